"""Climbs the ladder: the same text in faster and faster ways, one rung after the other.

    climb = Climb(LadderRequest(new_tokens=24), loaded)
    for share in climb.steps():
        ...                                # no clock runs here: draw `climb.ladder()`, break

The first round goes up rung by rung, since getting ready can take long; later rounds take the rungs
in turns again, so that a machine that slows down slows all of them. `rungs` says what they are,
`measure` has the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from . import experiments, guesses, models, roofline, rungs
from .experiments import RaceRequest
from .generate import BadRequest
from .measure import Arm, Run, Setup
from .records import Roofs, Trace
from .records.ladder import Ladder, Rung
from .records.speculation import GuessPass, Speculation, speculation
from .rungs import Kind, NotHere

FEWER_BYTES = ("quantised",)  # rungs that may change the text
DEFAULT = ("naive", "cached", "preallocated", "weight layout", "speculative")


@dataclass(frozen=True)
class LadderRequest:
    """What somebody chose. `task` is a key of `guesses.TASKS`, or a text of one's own."""

    model: str | models.Loaded = models.DEFAULT
    task: str = "copying"
    new_tokens: int = 24
    rounds: int = 1
    names: tuple[str, ...] = DEFAULT


@dataclass
class Footing:
    """A rung that is being climbed: its runs so far, or why there are none."""

    kind: Kind
    setup: Setup | None = None
    loop: Callable | None = None
    arm: Arm | None = None
    runs: list[Run] = field(default_factory=list)
    skipped: str | None = None


class Climb:
    """One climb: `steps` does it, `ladder` is what is known so far."""

    def __init__(
        self,
        request: LadderRequest,
        loaded: models.Loaded,
        roofs: Roofs | None = None,
        tell: Callable[[str], None] = lambda text: None,
    ):
        """`tell` hears what is got ready, which can take minutes; what it raises ends the climb.

        Raises BadRequest or ModelError, with a remedy, for what can't be run.
        """
        self._request, self._loaded, self._tell = request, loaded, tell
        self._footings = [Footing(kind) for kind in rungs.chosen(request.names)]
        if request.rounds < 1:
            raise BadRequest("ask for 1 round or more")
        text = guesses.TASKS.get(request.task, request.task)
        race = RaceRequest(loaded, text, request.new_tokens, arms=("cached",))
        setup = experiments.prepare(race, loaded)[0].setup
        self._setup = replace(setup, roofs=roofs or setup.roofs)
        self._ids = loaded.tokenizer.encode(text)

    def steps(self) -> Iterator[float]:
        """Climbs; after each token gives the share of all tokens that are made."""
        done, each = 0, self._request.new_tokens
        total = len(self._footings) * self._request.rounds * each
        for turn in range(self._request.rounds):
            for footing in self._footings:
                for made, _ in enumerate(self._climb(footing, first=not turn), 1):
                    yield (done + made) / total
                done += each
                yield done / total

    def _climb(self, footing: Footing, first: bool) -> Iterator[None]:
        if first:
            self._tell(f"getting “{footing.kind.name}” ready")
            self._get_ready(footing)
        if footing.skipped:
            return
        run = Run(footing.arm, footing.setup)
        if first:
            run.warm_up()
        footing.runs.append(run)
        while run.step() is not None:
            yield

    def _get_ready(self, footing: Footing) -> None:
        """The rung's arm, or the reason why there is none."""
        try:
            loaded = self._row_by_row if footing.kind.row_by_row else self._loaded
            loop = footing.kind.ready(loaded)
        except (NotHere, BadRequest, models.ModelError) as reason:
            footing.skipped = str(reason)
            return
        footing.loop = loop
        ids, new_tokens = [self._ids], self._request.new_tokens
        footing.arm = Arm(footing.kind.name, lambda: loop(ids, new_tokens))
        layout = "plain" if footing.kind.row_by_row else self._setup.settings.layout
        settings = replace(self._setup.settings, layout=layout)
        footing.setup = replace(self._setup, settings=settings)

    @cached_property
    def _row_by_row(self) -> models.Loaded:
        """One copy for all rungs that want it."""
        return rungs.row_by_row(self._loaded)

    def ladder(self) -> Ladder:
        """The rungs that were begun."""
        begun = [f for f in self._footings if f.runs or f.skipped]
        return Ladder(tuple(map(self._rung, begun)), self._setup.roofs)

    def _rung(self, footing: Footing) -> Rung:
        kind = footing.kind
        traces = tuple(run.trace() for run in footing.runs)
        if self._loaded.shape is None or not traces or not traces[0].itl_s:
            return Rung(kind.name, kind.changed, kind.costs, traces, skipped=footing.skipped)
        slots = len(self._ids) + self._request.new_tokens - 1
        token_bytes, predicted_s = theory(kind, traces[0], slots)
        known = (kind.name, kind.changed, kind.costs, traces, token_bytes, predicted_s)
        return Rung(*known, note=_compile_note(footing.loop))


def _compile_note(loop: object) -> str:
    """What compiling took, for a loop that did."""
    seconds = getattr(loop, "compile_s", None)
    return "" if seconds is None else f"Compiling took {seconds:.0f} s"


def theory(kind: Kind, trace: Trace, slots: int) -> tuple[float, float | None]:
    """Bytes and predicted seconds for a token of that run, over the passes that it made."""
    made = speculation(trace) if kind.guesses else one_by_one(trace)
    dtype, roofs = trace.settings.dtype, trace.roofs
    costs = [kind.cost(trace.model, one, dtype, slots) for one in made.passes]
    token_bytes = sum(cost.bytes for cost in costs) / made.tokens
    if roofs is None or dtype not in roofs.flops_per_s:
        return token_bytes, None
    if not kind.eager:
        roofs = replace(roofs, overhead_s=0.0, layer_overhead_s=None)
    seconds = sum(roofline.predict(cost, roofs).seconds for cost in costs)
    return token_bytes, seconds / made.tokens


def one_by_one(trace: Trace) -> Speculation:
    """A run without guesses, whatever its passes read."""
    return Speculation(tuple(GuessPass(0, 0, step.context_tokens) for step in trace.steps[1:]))
