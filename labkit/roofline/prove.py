"""Which limiter do interventions support? Change one thing, and see what the clock follows.

Three accounts of a decode step compete: it waits for memory, it waits for arithmetic, it waits for
the host. Each says what the step should take as it is, with half the bytes, with twice the tokens,
with twice the context. The account that the measured times follow is supported. This is evidence of
what binds here, not of why; and where two accounts say much the same, nothing is decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

from ..records.estimate import Cost, Estimate
from ..records.machine import Roofs
from .times import predict

ACCOUNTS = ("memory-bandwidth", "compute", "host-overhead")
FAR = 0.35  # mean |ln(measured ÷ account)|: beyond 40 % off, an account explains nothing
APART = 0.15  # the best account must be so much nearer than the next
SLOWER = 1.05  # halving the bytes can't cost time: if it did, other kernels ran


@dataclass(frozen=True)
class Trial:
    """One step as it was changed: what the roofs allow it, and what it took."""

    name: str
    estimate: Estimate
    seconds: float

    def says(self, account: str) -> float | None:
        """Seconds that the step should take if `account` is right; None where that is unknown."""
        return {
            "memory-bandwidth": self.estimate.memory_s,
            "compute": self.estimate.compute_s,
            "host-overhead": self.estimate.overhead_s,
        }[account]


@dataclass(frozen=True)
class Proof:
    """The limiter that the trials support, or "undetermined"; why; each account's mean miss."""

    limiter: str
    reason: str
    misses: dict[str, float]


def trials(steps: Sequence[tuple[str, Cost, float]], roofs: Roofs | None) -> list[Trial]:
    """Each step's name, work and measured seconds as a trial, the unchanged step first.

    The accounts are the plain ones, FLOPs ÷ FLOP/s and bytes ÷ bandwidth, whatever the probe knows
    of single kernels. Without roofs each account is scaled so that it explains that step exactly:
    only the changes speak then.
    """
    if roofs is not None:
        plain = replace(roofs, flops_by_rows={}, attention_by_rows={}, read_by_bytes={})
        return [Trial(name, predict(cost, plain), seconds) for name, cost, seconds in steps]
    _, base, base_s = steps[0]
    return [
        Trial(
            name,
            Estimate(base_s * cost.flops / base.flops, base_s * cost.bytes / base.bytes, base_s),
            seconds,
        )
        for name, cost, seconds in steps
    ]


def confounded(trials: Sequence[Trial]) -> list[Trial]:
    """Trials that say nothing: half the bytes took longer, so the other format's kernels differ."""
    base = trials[0]
    return [
        trial
        for trial in trials[1:]
        if trial.estimate.memory_s < 0.75 * base.estimate.memory_s
        and trial.seconds > SLOWER * base.seconds
    ]


def prove(trials: Sequence[Trial]) -> Proof:
    """Judges the trials, the unchanged step first. Raises ValueError for fewer than two."""
    if len(trials) < 2:
        raise ValueError("give the unchanged step and at least one that was changed")
    void = confounded(trials)
    counted = [trial for trial in trials if trial not in void]
    said = {account: _miss(counted, account) for account in ACCOUNTS}
    misses = {account: miss for account, miss in said.items() if miss is not None}
    best, *others = sorted(misses, key=misses.__getitem__)
    reason = f"its times are off by {_percent(misses[best])} on average"
    if misses[best] > FAR:
        return Proof("undetermined", f"no account fits: of the best, {best}, {reason}", misses)
    if others and misses[others[0]] - misses[best] < APART:
        near = f"{best} and {others[0]} both fit: off by {_percent(misses[best])} and "
        return Proof("undetermined", f"{near}{_percent(misses[others[0]])}", misses)
    rest = ", ".join(f"those of {name} by {_percent(misses[name])}" for name in others)
    return Proof(best, f"{reason}{', ' if rest else ''}{rest}", misses)


def in_cache(proof: Proof, step_bytes: float, cache_bytes: int | None) -> Proof:
    """No bandwidth verdict where a step's bytes are less than twice the last-level cache: such a
    step need not wait for memory at all."""
    if proof.limiter != "memory-bandwidth" or not cache_bytes or step_bytes >= 2 * cache_bytes:
        return proof
    reason = (
        f"the times follow the bytes, but those of a step ({step_bytes / 1e6:.0f} MB) can stay in "
        f"the processor's cache ({cache_bytes / 1e6:.0f} MB): choose a larger model"
    )
    return Proof("undetermined", reason, proof.misses)


def _miss(trials: Sequence[Trial], account: str) -> float | None:
    """Mean |ln(measured ÷ said)|: 0.1 is about 10 % off; None where the account says nothing."""
    says = [trial.says(account) for trial in trials]
    if not all(says):
        return None
    pairs = zip(trials, says, strict=True)
    return sum(abs(log(trial.seconds / said)) for trial, said in pairs) / len(trials)


def _percent(miss: float) -> str:
    """0.1 as "11 %"; a large miss as "×7.4"."""
    factor = 2.718281828459045**miss
    return f"{factor - 1:.0%}" if factor < 2 else f"a factor of {factor:.1f}"
