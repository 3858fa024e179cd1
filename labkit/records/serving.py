"""Many requests served by one model: who asked when, who held which slot, how long each waited.

All times are on the service's own clock, from 0 on. Like `Trace`, nothing in here measures, and
each metric is computed from what was recorded, here and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from .machine import Machine
from .model_shape import ModelShape
from .trace import NS, percentile


@dataclass(frozen=True)
class Request:
    """What somebody asks, and when: a prompt of so many tokens, an answer of so many."""

    number: int
    arrival_s: float
    prompt_tokens: int
    new_tokens: int


@dataclass(frozen=True)
class RequestTimes:
    """One request's stay, as far as it has come. None: not yet, or unknown.

    `start_s` is when it got its slot, `release_s` when the slot was free again: behind a batch that
    waits for its longest answer, later than the last token. `slot` counts from 0.
    """

    request: Request
    slot: int | None = None
    start_s: float | None = None
    first_token_s: float | None = None
    last_token_s: float | None = None
    release_s: float | None = None
    token_ids: tuple[int, ...] = ()

    @property
    def done(self) -> bool:
        return len(self.token_ids) >= self.request.new_tokens

    @property
    def ttft_s(self) -> float | None:
        """From asking to the first token: the queue and the prefill."""
        return _between(self.request.arrival_s, self.first_token_s)

    @property
    def tpot_s(self) -> float | None:
        """(last − first token) ÷ (tokens − 1), pauses for other people's prompts included."""
        later = len(self.token_ids) - 1
        return (self.last_token_s - self.first_token_s) / later if later > 0 else None

    @property
    def latency_s(self) -> float | None:
        """From asking to the last token; None while the answer is not complete."""
        return _between(self.request.arrival_s, self.last_token_s) if self.done else None


def _between(start_s: float, end_s: float | None) -> float | None:
    return None if end_s is None else end_s - start_s


@dataclass(frozen=True)
class ServedPass:
    """One forward pass for several requests.

    `made` counts the tokens that somebody had asked for; `positions` those that went through the
    layers, all rows together, `padding` of them meant nothing. `kv_bytes` is what the cache's
    tensors take, `kv_used_bytes` the part of it that unfinished requests filled.
    """

    kind: str  # "prefill" or "decode"
    start_s: float
    wall_ns: int
    made: int
    positions: int
    padding: int = 0
    kv_bytes: int = 0
    kv_used_bytes: int = 0

    @property
    def end_s(self) -> float:
        return self.start_s + self.wall_ns * NS


@dataclass(frozen=True)
class Serving:
    """One run of one policy over some traffic. `passes` is empty where the engine hides them.

    `per_s` is the mean rate of arrivals; None: all requests were there from the start.
    """

    policy: str
    slots: int
    requests: tuple[RequestTimes, ...]
    passes: tuple[ServedPass, ...]
    name: str  # the model's
    model: ModelShape | None
    dtype: str
    machine: Machine
    per_s: float | None = None
    threads: int | None = None
    versions: dict[str, str] = field(default_factory=dict, hash=False)
    started_at: str | None = None
    origin: str = "measured"

    @property
    def tokens(self) -> int:
        """Output tokens that somebody asked for."""
        return sum(len(times.token_ids) for times in self.requests)

    @property
    def span_s(self) -> float:
        """From the first arrival to the last token so far."""
        ends = [times.last_token_s for times in self.requests if times.last_token_s is not None]
        return max(ends) - min(t.request.arrival_s for t in self.requests) if ends else 0.0

    @property
    def tokens_per_s(self) -> float | None:
        """Output tokens of all requests for each second of the span, prompts included in it."""
        return self.tokens / self.span_s if self.span_s else None

    @property
    def wasted_slots(self) -> float | None:
        """Share, 0 to 1, of the slots in all decode passes that made a token for nobody."""
        decode = [each.made for each in self.passes if each.kind == "decode"]
        return 1 - sum(decode) / (self.slots * len(decode)) if decode else None

    @property
    def padding(self) -> float | None:
        """Share, 0 to 1, of the prompt positions that were padding."""
        prefill = [each for each in self.passes if each.kind == "prefill"]
        positions = sum(each.positions for each in prefill)
        return sum(each.padding for each in prefill) / positions if positions else None

    @property
    def in_flight(self) -> float | None:
        """How many requests were there on average, waiting or served, from first arrival on."""
        stays = [times.latency_s for times in self.requests]
        return sum(stays) / self.span_s if self.span_s and None not in stays else None

    def ttft_s(self, percent: float = 50) -> float | None:
        """The time to the first token that `percent` of the requests stayed within."""
        return percentile(_known(times.ttft_s for times in self.requests), percent)

    def tpot_s(self, percent: float = 50) -> float | None:
        """The time for an output token that `percent` of the requests stayed within."""
        return percentile(_known(times.tpot_s for times in self.requests), percent)

    def latency_s(self, percent: float = 50) -> float | None:
        """The time to the last token that `percent` of the finished requests stayed within."""
        return percentile(_known(times.latency_s for times in self.requests), percent)


def _known(values) -> list[float]:
    return [value for value in values if value is not None]


def same_answers(one: Serving, other: Serving) -> bool:
    """Whether both gave every request the same tokens, as far as both have come."""
    pairs = zip(one.requests, other.requests, strict=True)
    tokens = ((a.token_ids, b.token_ids) for a, b in pairs)
    return all(
        x == y for a, b in tokens for x, y in [(a[: min(len(a), len(b))], b[: min(len(a), len(b))])]
    )


# ---- files ---------------------------------------------------------------------------------------

SCHEMA = "labkit-serving-1"
COLUMNS = ("prompt_tokens", "new_tokens", "arrival_s")
TIMES = ("slot", "start_s", "first_token_s", "last_token_s", "release_s")


def servings_to_json(servings: Sequence[Serving]) -> str:
    """All servings of one run as JSON text."""
    rows = [asdict(serving) for serving in servings]
    return json.dumps({"schema": SCHEMA, "servings": rows}, ensure_ascii=False)


def servings_to_csv(servings: Sequence[Serving]) -> str:
    """A row for each request of each policy, for spreadsheets; the passes are in the JSON only."""
    lines = [",".join(("policy", "slots", "per_s", "number", *COLUMNS, *TIMES))]
    for serving in servings:
        head = (f'"{serving.policy}"', serving.slots, serving.per_s)
        for times in serving.requests:
            asked = [getattr(times.request, name) for name in ("number", *COLUMNS)]
            row = (*head, *asked, *(getattr(times, name) for name in TIMES))
            lines.append(",".join("" if cell is None else str(cell) for cell in row))
    return "\n".join(lines) + "\n"
