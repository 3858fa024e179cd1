"""What the learner is told: what was right, what is missing, what was confused with what.

Every sentence says why. The answer itself is not given away here; a scenario's own arithmetic is
shown once the verdict is correct.
"""

from __future__ import annotations

import re

from ...scenarios.truth import Truth
from .arithmetic import Sum
from .verdict import Reading

# How each phase shows itself in the figures: said when it was named though it is another.
SIGNS = {
    "prefill": "Prefill would show as a long time to first token that grows with the prompt.",
    "decode": "Decode would show as a long time for every token after the first.",
    "queue": "A queue would show as time before the work starts, and only with many requests.",
    "load": "Loading would show on the first request after a start or a pause, and only there.",
    "overhead": "Overhead would show as a device that is idle for most of each step.",
    "balanced": "A balanced run has no part with most of the time.",
    "insufficient-data": "The figures here do suffice: compare the time before the first token "
    "with the time of all the others.",
}
# A limiter that was named, and why it isn't the one.
LIMITERS = {
    "compute": "Compute is short where many tokens pass through each weight, as in a long prefill. "
    "One token for each sequence leaves the arithmetic units waiting.",
    "memory-bandwidth": "Bandwidth is short where few tokens share each read of the weights. "
    "Check it: bytes of a step ÷ time of a step, against what the memory can deliver.",
    "capacity-or-scheduling": "Capacity is about how much fits and how many are served at once. "
    "It does not set how fast one request's tokens come.",
    "host-overhead": "The host is the limit where the device idles between launches; a step that "
    "takes as long as its bytes or FLOPs need is not waiting for the host.",
    "model-loading": "Loading is paid once, before the first token of the first request.",
    "undetermined": "The limiter can be told here: which resource does the slow part use most?",
}
MEMORY = re.compile(r"ram|m[eé]m|gb|gig|speicher|fit|存", re.I)  # capacity in the sense of size
# How a name of the vocabulary is written where its hyphens alone would read oddly.
NAMES = {
    "queue": "the queue",
    "load": "loading the model",
    "insufficient-data": "a lack of figures",
    "capacity-or-scheduling": "capacity",
    "host-overhead": "the host",
    "undetermined": "unknown",
}
CAPACITY_FOR_BANDWIDTH = (
    "Capacity is not bandwidth: GB say how much the memory holds, GB/s how fast it is read. "
    "A larger memory at the same speed gives the same tokens per second."
)
# What a family of remedy changes: said when it does not help.
REMEDIES = {
    "more-compute": "More FLOP/s shorten work that waits for arithmetic.",
    "more-bandwidth": "Faster memory shortens steps that wait for bytes.",
    "fewer-bytes": "Fewer bytes shorten steps that wait for memory.",
    "less-prompt": "Less prompt shortens prefill; the tokens after it cost the same.",
    "fewer-steps": "Fewer steps shorten decode; what comes before the first token stays.",
    "more-replicas": "More replicas raise throughput: more requests at once. The latency of one "
    "request that is already being served stays.",
    "less-overhead": "Less overhead helps a device that waits for its host.",
    "keep-warm": "A warm model saves the load before the first request, nothing later.",
    "measure-more": "More figures would not hurt, but these suffice for a remedy.",
}
ASK = {
    "phase": "Say which phase the time goes to: reading the prompt, writing the tokens, waiting "
    "for a slot, loading the model, or the host's overhead. If the figures can't tell, say so.",
    "limiter": "What limits that phase is missing: arithmetic, memory bandwidth, the host, "
    "capacity? Say which, and from what you conclude it.",
    "remedy": "A change that would help is missing; it need not be hardware.",
}
ASK_WITHOUT_DATA = {
    "limiter": "Does the same hold for what limits it? Say whether that can be told.",
    "remedy": "Say what you would measure or ask for first.",
}
TRICKS = {
    "orders": "Orders to the grader are not read. Tell in your own words what is slow, and why.",
    "list": "A list of terms is no diagnosis. Say in a sentence what is slow, and why.",
    "too long": "Only the beginning of your answer was read: put the diagnosis first.",
}


def sentences(reading: Reading, truth: Truth, verdict: str, checked: list[Sum]) -> tuple[str, ...]:
    """The feedback, most important first."""
    said = [*_phase(reading, truth, verdict)]
    if verdict in ("correct", "partial"):
        said += [*_limiter(reading, truth), *_remedies(reading, truth)]
    said += [_wrong_sum(one) for one in checked if not one.right]
    said += [TRICKS[trick] for trick in reading.tricks]
    if verdict == "correct" and truth.why:
        said.append(truth.why)
    return tuple(said)


def _phase(reading: Reading, truth: Truth, verdict: str) -> list[str]:
    if verdict == "unclear":
        names = [_name(name) for name in (*reading.limiters, *reading.remedies)]
        return [*([f"You name {' and '.join(names)}."] if names else []), ASK["phase"]]
    first = reading.main[0]
    if verdict == "contradictory":
        return [f"{_conflict(reading)} Decide on one: what takes most of the time?"]
    if verdict == "incorrect":
        return [f"{_quote(first.quote)}: that is not where the time goes. {SIGNS[first.name]}"]
    lacking = truth.phase == "insufficient-data"
    right = "these figures can't tell" if lacking else "that is the phase"
    return [f"{_quote(first.quote)}: right, {right}."]


def _conflict(reading: Reading) -> str:
    if reading.denial:
        name = _name(reading.denial.name)
        return f"You name {name} as the trouble, and elsewhere you say that it isn't."
    quotes = " and ".join(_quote(claim.quote) for claim in reading.main)
    return f"You name more than one phase: {quotes}."


def _limiter(reading: Reading, truth: Truth) -> list[str]:
    if truth.limiter in reading.limiters:
        claim = reading.claim("limiter", truth.limiter)
        if claim is None or claim.quote == reading.main[0].quote:
            return ["That answers what limits it, too."]
        return [f"{_quote(claim.quote)}: right, that is what limits it."]
    if not reading.limiters:
        return [_ask("limiter", truth)]
    wrong = reading.limiters[0]
    size = reading.claim("limiter", "capacity-or-scheduling")
    if truth.limiter == "memory-bandwidth" and size and MEMORY.search(size.quote):
        return [CAPACITY_FOR_BANDWIDTH]
    return [f"The limiter is not {_name(wrong)}. {LIMITERS[wrong]}"]


def _remedies(reading: Reading, truth: Truth) -> list[str]:
    """Helpful ones first. Words that were read in two ways are judged by the helpful one."""
    helpful = [claim for claim in reading.remedy_claims if claim.name in truth.remedies]
    others = [
        claim
        for claim in reading.remedy_claims
        if claim not in helpful and not any(claim.shares_words(one) for one in helpful)
    ]
    said = [f"{_quote(claim.quote)} would help." for claim in helpful]
    said += [f"{_quote(one.quote)} would not help here. {REMEDIES[one.name]}" for one in others]
    return said or [_ask("remedy", truth)]


def _ask(part: str, truth: Truth) -> str:
    return (ASK_WITHOUT_DATA if truth.phase == "insufficient-data" else ASK)[part]


def _wrong_sum(one: Sum) -> str:
    return f"{_quote(one.quote)}: check that sum; it gives about {one.result:.3g}."


def _name(name: str) -> str:
    return NAMES.get(name, name.replace("-", " "))


def _quote(text: str) -> str:
    return f"“{text}”"
