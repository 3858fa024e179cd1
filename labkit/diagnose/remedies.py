"""What would help, for each phase and what limits it, the largest effect first.

Faster hardware is named only where the evidence shows that it is what the phase waits for;
elsewhere the cause comes first.
"""

from __future__ import annotations

from ..records.verdict import Remedy
from .figures import percent

QUEUE_FIRST = (
    ("more-replicas", "more replicas, or more requests in a batch"),
    ("more-replicas", "admission control, so that fewer wait at once"),
    ("fewer-bytes", "a smaller KV cache (8-bit KV, GQA), so that more requests fit"),
)
LOAD_FIRST = (
    ("keep-warm", "keep the model resident, and warm it up before the first user comes"),
    ("fewer-bytes", "fewer bytes to load: a smaller or quantised model, a faster disk"),
)
OUTSIDE_FIRST = (
    ("less-overhead", "find what runs outside the model: tokenising, copies, the client, a proxy"),
)
LAUNCHES_FIRST = (
    ("less-overhead", "CUDA graphs or torch.compile, a leaner runtime, no host syncs in a step"),
    ("less-overhead", "larger batches: the host's cost of a step is shared"),
)
FIT_FIRST = (
    ("fewer-bytes", "a smaller or more quantised model, so that all of it fits the fast memory"),
    ("more-replicas", "more accelerators that hold the model together"),
)
PROMPT_FIRST = (
    ("less-prompt", "a shorter prompt: fewer retrieved passages, a summary instead of a history"),
    ("less-prompt", "prefix caching, so that what repeats is computed once"),
)
FLOPS_FIRST = (("more-compute", "more FLOP/s: a faster chip, or products in 8 bit"),)
STEPS_FIRST = (
    ("fewer-steps", "speculative decoding: several tokens for one reading of the weights"),
    ("fewer-steps", "shorter answers"),
)
BYTES_FIRST = (
    ("fewer-bytes", "fewer bytes in each step: quantised weights or KV, a smaller model"),
    ("more-bandwidth", "memory with more bandwidth"),
)
MEASURE_FIRST = (("measure-more", "measure what is listed as missing"),)
UNKNOWN_DECODE = (
    *MEASURE_FIRST,
    STEPS_FIRST[1],
    ("fewer-bytes", "quantised weights, if reading them turns out to be the limit"),
)

FIRST_OF_EACH = {  # where no part is most of the time
    "queue": QUEUE_FIRST[0],
    "load": LOAD_FIRST[0],
    "prefill": PROMPT_FIRST[0],
    "decode": STEPS_FIRST[1],
    "overhead": OUTSIDE_FIRST[0],
}
WORTH_WORK = 0.1  # a part below this share of the time isn't

PHASES_OF_MODEL = ("prefill", "decode")

TABLE = {
    ("prefill", "compute"): PROMPT_FIRST + FLOPS_FIRST,
    ("prefill", "memory-bandwidth"): BYTES_FIRST + PROMPT_FIRST[1:],
    ("prefill", "host-overhead"): LAUNCHES_FIRST,
    ("decode", "memory-bandwidth"): BYTES_FIRST + STEPS_FIRST,
    ("decode", "capacity-or-scheduling"): FIT_FIRST + STEPS_FIRST,
    ("decode", "compute"): FLOPS_FIRST + STEPS_FIRST,
    ("overhead", "host-overhead"): LAUNCHES_FIRST,
}
OTHERWISE = {
    "prefill": PROMPT_FIRST + MEASURE_FIRST,
    "decode": UNKNOWN_DECODE,
    "queue": QUEUE_FIRST,
    "load": LOAD_FIRST,
    "overhead": OUTSIDE_FIRST,
    "insufficient-data": MEASURE_FIRST,
}


def remedies(
    phase: str, limiter: str, shares: dict[str, float], in_model: bool = True
) -> tuple[Remedy, ...]:
    """What to do, in order of effect. `in_model`: the overhead is paid inside the model's steps."""
    if phase == "balanced":
        parts = sorted(shares, key=shares.__getitem__, reverse=True)
        parts = [name for name in parts if shares[name] >= WORTH_WORK]
        return tuple(Remedy(*FIRST_OF_EACH[name], shares[name]) for name in parts)
    rows = TABLE.get((phase, limiter), OTHERWISE[phase])
    if phase == "overhead" and not in_model:
        rows = OUTSIDE_FIRST
    touched = shares.get("decode" if phase == "overhead" and in_model else phase)
    return tuple(
        Remedy(family, text, None if family == "measure-more" else touched) for family, text in rows
    )


def hardware(phase: str, limiter: str, shares: dict[str, float]) -> str:
    """For whom more FLOP/s, for whom more bandwidth, for whom neither."""
    part = f" That is {percent(shares[phase])} of the time." if phase in shares else ""
    if limiter == "compute":
        return f"More FLOP/s shorten {phase}; more bandwidth does not.{part}"
    if limiter == "memory-bandwidth":
        return f"More bandwidth shortens {phase}; more FLOP/s do not.{part}"
    if phase in ("queue", "load", "overhead"):
        name = {"queue": "the queue", "load": "loading", "overhead": "the overhead"}[phase]
        return f"Neither more FLOP/s nor more bandwidth helps before {name} is dealt with."
    if phase == "insufficient-data":
        return "Nothing here says whether faster hardware would help."
    parts = [f" ({percent(shares[n])} of the time)" if n in shares else "" for n in PHASES_OF_MODEL]
    return (
        f"More FLOP/s could shorten only prefill{parts[0]}, more bandwidth only decode{parts[1]}; "
        "whether they would, these figures don't show."
    )
