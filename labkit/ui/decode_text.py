"""The text twin of lesson 05's panel: the ledger, the times and the proof, in sentences and tables.

Pure functions from records to HTML.
"""

from __future__ import annotations

from html import escape

from .. import roofline, summary
from ..records.machine import Roofs
from ..records.model_shape import ModelShape
from ..records.passes import Pass, Passes, Timing
from ..roofline.prove import Proof, Trial, confounded, in_cache, prove, trials
from ..summary import Table

HEADER = ("step", "measured", "predicted", "off by", "MBU", "MFU", "should be bound by")
ACCOUNTS = {
    "memory-bandwidth": "if memory binds",
    "compute": "if compute binds",
    "host-overhead": "if the host binds",
}


def told(shape: ModelShape, step: Pass, passes: Passes | None, roofs: Roofs | None) -> str:
    """Everything that the panel shows, as HTML."""
    html = [f"<p>{escape(ledger_sentence(shape, step))}</p>"]
    if passes:
        html.append(proof_told(shape, passes, roofs))
    timings = [t for t in (passes.timings if passes else ()) if t.curve != "prove"]
    if timings:
        html.append(f"<p>{escape(flat_sentence(passes))}</p>")
        html.append(Table(HEADER, tuple(_row(t, shape, roofs) for t in timings)).html())
    return "".join(html)


def ledger_sentence(shape: ModelShape, step: Pass) -> str:
    """Which part of the bytes are weights, and where the cache would catch up."""
    cost = roofline.cost_of(shape, step)
    equal = roofline.context_where_kv_equals_weights(shape, step.dtype, step.batch)
    catches = (
        "and never reaches the weights: its windows are short"
        if equal is None
        else f"and would equal the weights at {equal:,.0f} positions of each sequence"
    )
    return (
        f"One step for {step.batch:,} token{'s' * (step.batch > 1)} at context {step.context:,} in "
        f"{step.dtype} moves {summary.gb(cost.bytes)}: {summary.gb(cost.weight_bytes)} "
        f"({cost.weight_bytes / cost.bytes:.0%}) for weights and logits, whatever the context; "
        f"{summary.gb(cost.kv_bytes)} for the cache. The cache holds "
        f"{summary.gb(_kv(shape, step))} {catches}."
    )


def _kv(shape: ModelShape, step: Pass) -> int:
    return roofline.kv_bytes(shape, step.context, step.batch, step.dtype)


def flat_sentence(passes: Passes) -> str:
    """How the time grew while the tokens of a step did."""
    together = passes.curve("together")
    if len(together) < 2:
        return "So far one size of step."
    one, most = together[0], together[-1]
    times = most.median_s / one.median_s
    return (
        f"{most.what.tokens:,} tokens together took {summary.digits(times)} times as long as one: "
        f"{summary.rate(most.what.tokens / most.median_s)} against "
        f"{summary.rate(1 / one.median_s)}."
    )


def _row(timing: Timing, shape: ModelShape, roofs: Roofs | None) -> tuple[str, ...]:
    cells = (described(timing.what), summary.ms(timing.median_s))
    if roofs is None or timing.what.dtype not in roofs.flops_per_s:
        return (*cells, *["unknown"] * 5)
    cost = roofline.cost_of(shape, timing.what)
    said = roofline.predict(cost, roofs)
    shares = (
        roofline.mbu(cost, timing.median_s, roofs),
        roofline.mfu(cost, timing.median_s, roofs),
    )
    off = f"{said.seconds / timing.median_s - 1:+.0%}"
    return (*cells, summary.ms(said.seconds), off, *(f"{x:.0%}" for x in shares), said.limiter)


def described(what: Pass) -> str:
    tokens = "1 token" if what.tokens == 1 else f"{what.tokens:,} tokens"
    return f"{tokens}, context {what.context:,}, {what.dtype}"


# ---- the proof -----------------------------------------------------------------------------------


def trials_of(shape: ModelShape, timings: tuple[Timing, ...], roofs: Roofs | None) -> list[Trial]:
    """The timed steps as trials; roofs that lack one of the formats are not used."""
    known = roofs if roofs and all(t.what.dtype in roofs.flops_per_s for t in timings) else None
    steps = [(described(t.what), roofline.cost_of(shape, t.what), t.median_s) for t in timings]
    return trials(steps, known)


def proof_of(shape: ModelShape, passes: Passes, roofs: Roofs | None) -> Proof | None:
    """What the interventions support; None before any was timed."""
    timings = passes.curve("prove")
    if len(timings) < 2:
        return None
    step_bytes = roofline.cost_of(shape, timings[0].what).bytes
    found = prove(trials_of(shape, timings, roofs))
    return in_cache(found, step_bytes, passes.machine.cache_bytes)


def proof_told(shape: ModelShape, passes: Passes, roofs: Roofs | None) -> str:
    """The verdict, why, and the table of what each account says, as HTML."""
    found = proof_of(shape, passes, roofs)
    if found is None:
        return ""
    tried = trials_of(shape, passes.curve("prove"), roofs)
    void = confounded(tried)
    rows = tuple(_trial_row(trial, trial in void) for trial in tried)
    header = ("step", *ACCOUNTS.values(), "measured")
    return f"<p>{escape(verdict(found, void))}</p>{Table(header, rows).html()}"


def verdict(found: Proof, void: list[Trial]) -> str:
    """The proof in a sentence or two."""
    text = f"Supported: {found.limiter}. " if found.limiter != "undetermined" else "Undetermined. "
    text += f"{found.reason[0].upper()}{found.reason[1:]}."
    for trial in void:
        text += (
            f" “{trial.name}” is left out: fewer bytes can't take longer by themselves, so slower "
            "kernels ran, or something disturbed it."
        )
    return text


def _trial_row(trial: Trial, void: bool) -> tuple[str, ...]:
    says = (trial.says(account) for account in ACCOUNTS)
    name = trial.name + (" (left out)" if void else "")
    return (name, *map(summary.ms, says), summary.ms(trial.seconds))
