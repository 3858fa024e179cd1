"""What is true of a scenario: where the time goes, what limits it, which families of remedy help.

The words are those of diagnosis everywhere in the lab; a text from elsewhere may say "unknown" for
the limiter "undetermined".
"""

from __future__ import annotations

from dataclasses import dataclass

from ..records.verdict import LIMITERS, PHASES

REMEDIES = {
    "more-compute": "more FLOP/s: faster tensor cores, FP8 compute",
    "more-bandwidth": "faster memory, or several GPUs whose bandwidths add up",
    "fewer-bytes": "fewer bytes a step: quantised weights or cache, a smaller model, GQA",
    "less-prompt": "less prompt to process: shorter, cached prefix, fewer retrieved passages",
    "fewer-steps": "fewer decode steps: speculative decoding, shorter answers",
    "more-replicas": "more capacity: replicas, slots, admission control",
    "less-overhead": "less host work for each token: CUDA graphs, compilation, larger batches",
    "keep-warm": "keep the model loaded, or load it before the first request",
    "measure-more": "more figures: prompt length, TTFT, TPOT, batch, a profile",
}


@dataclass(frozen=True)
class Truth:
    """`remedies` are the families that help; `why` is the arithmetic, shown once it is earned.

    Raises ValueError for a word that isn't one of the lab's.
    """

    phase: str
    limiter: str
    remedies: tuple[str, ...]
    why: str = ""

    def __post_init__(self) -> None:
        known = (*PHASES, *LIMITERS, *REMEDIES)
        unknown = [w for w in (self.phase, self.limiter, *self.remedies) if w not in known]
        if unknown or not self.remedies:
            raise ValueError(f"{unknown or 'no remedy'}: use the words of labkit.scenarios.truth")
