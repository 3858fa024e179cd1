"""What a diagnosis says: where the time goes, what bounds it, why, and what would help.

A verdict is words and shares; how it was reached is in its evidence, with the arithmetic. Which
rules led there is `diagnose`'s business.
"""

from __future__ import annotations

from dataclasses import dataclass, field

PHASES = ("prefill", "decode", "queue", "load", "overhead", "balanced", "insufficient-data")
LIMITERS = (
    "compute",
    "memory-bandwidth",
    "host-overhead",
    "capacity-or-scheduling",
    "model-loading",
    "undetermined",
)


@dataclass(frozen=True)
class Evidence:
    """A claim, and the calculation behind it with figures of the input: "8.7 s ÷ 9.8 s = 89 %"."""

    claim: str
    arithmetic: str = ""

    def __str__(self) -> str:
        return f"{self.claim}: {self.arithmetic}" if self.arithmetic else self.claim


@dataclass(frozen=True)
class Remedy:
    """`family` is one word for all remedies of a kind; `at_most` is the share of time it touches.

    No remedy saves more than the whole of the part that it works on (Amdahl). None: unknown.
    """

    family: str
    text: str
    at_most: float | None = None

    def __str__(self) -> str:
        limit = "" if self.at_most is None else f" (works on {self.at_most:.0%} of the time)"
        return self.text + limit


@dataclass(frozen=True)
class Verdict:
    """`shares` maps queue, load, prefill, decode and overhead to their parts of the user's wait.

    `hardware` says for whom more FLOP/s or more bandwidth would help. `missing` names first the
    one figure that would settle most. Raises ValueError for a word that is none of ours.
    """

    phase: str
    limiter: str
    confidence: str  # "high", "medium" or "low"
    about: str = ""  # which run of the paste
    shares: dict[str, float] = field(default_factory=dict, hash=False)
    evidence: tuple[Evidence, ...] = ()
    missing: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    hardware: str = ""

    def __post_init__(self) -> None:
        if self.phase not in PHASES or self.limiter not in LIMITERS:
            raise ValueError(f"{self.phase!r}, limited by {self.limiter!r}: no such verdict")

    @property
    def label(self) -> str:
        """The phase as people say it: "decode-bound"; "balanced" and "insufficient-data" as is."""
        alone = self.phase in ("balanced", "insufficient-data")
        return self.phase if alone else f"{self.phase}-bound"
