"""From "race these arms over that prompt" to runs under the clock, for panels and commands alike.

    request = RaceRequest(prompt="Why is the sky blue?", new_tokens=64)
    loaded = load(request)
    runs = prepare(request, loaded)
    for run, step in steps(request, runs):
        ...                                # no clock runs here: draw, print, break
    traces = [run.trace() for run in runs]

`models` meets `generate` and `measure` here and nowhere else. Nothing is timed here (`measure` has
the rules) and nothing is shown: whoever loops does that.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from . import catalog, generate, measure, models, probing
from .generate import BadRequest
from .measure import Arm, Run, Setup
from .records import Roofs, Settings, Step

GPU_MODEL, GPU_PROMPT_TOKENS = "Llama-3.1-8B", 2048
ARMS = {
    "naive": generate.naive,
    "cached": generate.cached,
    "preallocated": generate.preallocated,
}
ORDERS = {
    "interleaved": measure.interleaved,
    "one after the other": measure.one_after_the_other,
}
NO_PROMPT = "the prompt is empty: write something, or ask for 1 token or more"


@dataclass(frozen=True)
class RaceRequest:
    """What somebody chose. `model` is a name, or a model in memory, which has its dtype and device.

    `prompt` is a text, or a number of tokens: so many are then drawn at random by `seed`, since the
    time of a step depends on how many tokens there are, not on which. `chat` makes a text a user's
    turn where the model knows turns. `stop_at_eos` is for reading, not for measuring.
    """

    model: str | models.Loaded = models.DEFAULT
    prompt: str | int = "Why is the sky blue?"
    new_tokens: int = 64
    arms: tuple[str, ...] = ("naive", "cached")
    order: str = "interleaved"
    dtype: str | None = None  # None: this machine's default
    device: str | None = None
    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0
    batch: int = 1
    chat: bool = False
    stop_at_eos: bool = False


def suited_race(text: str) -> tuple[str, str | int]:
    """The model and prompt for a race on this machine: `text` on a CPU, more on a GPU.

    A small model on a GPU is bound by its launches, and naive and cached then take the same time.
    An 8B model parts them once the prompt has a few hundred to a thousand tokens.
    """
    device = models.default_device()
    if device.type == "cuda":
        fit = models.fits(catalog.model(GPU_MODEL), torch.bfloat16, device, GPU_PROMPT_TOKENS, 64)
        if fit.ok:
            return GPU_MODEL, GPU_PROMPT_TOKENS
    return models.DEFAULT, text


def load(
    request: RaceRequest, progress: Callable[[str, float | None], None] | None = None
) -> models.Loaded:
    """The request's model, in memory.

    Raises ModelError, with a remedy; and BadRequest for a request that no model could serve, since
    loading can take minutes.
    """
    _check_choices(request)
    if isinstance(request.model, models.Loaded):
        return request.model
    return models.load(request.model, request.device, request.dtype, progress)


def prepare(request: RaceRequest, loaded: models.Loaded) -> list[Run]:
    """A run for each arm, not started. Raises ValueError, with a remedy, as `validate` does."""
    if isinstance(request.prompt, str):
        ids = loaded.tokenizer.encode(request.prompt, request.chat)
        validate(request, loaded, len(ids))
    else:
        validate(request, loaded, request.prompt)
        ids = random_ids(loaded, request.prompt, request.seed)
    setup = Setup(
        shape=loaded.shape,
        settings=_settings(request, loaded, len(ids)),
        machine=measure.this_machine(loaded.device),
        device=loaded.device,
        decode=loaded.tokenizer.decode,
        roofs=_roofs(loaded),
    )
    return [Run(_arm(name, request, loaded, ids), setup) for name in request.arms]


def steps(request: RaceRequest, runs: list[Run]) -> Iterator[tuple[Run, Step]]:
    """Warms all runs up, then gives each token as it is made, in the order asked for.

    A run that came to its end makes a few more steps, which nobody sees, to tell the device's time
    from the host's.
    """
    for run in runs:
        run.warm_up()
    yield from ORDERS[request.order](runs)
    for run in runs:
        run.device_share = measure.device_share(run.arm, run.setup.device)


def validate(request: RaceRequest, loaded: models.Loaded, prompt_tokens: int) -> None:
    """Raises BadRequest, or ModelError where memory is too small, before anything is computed."""
    _check_choices(request)
    if prompt_tokens < 1:
        raise BadRequest(NO_PROMPT)
    _check_context(request, loaded, prompt_tokens)
    if loaded.shape is not None:
        sizes = (prompt_tokens, request.new_tokens, request.batch)
        fit = models.fits(loaded.shape, loaded.dtype, loaded.device, *sizes, loaded=True)
        if not fit.ok:
            raise models.ModelError(f"this run would not fit: {fit}")


def random_ids(loaded: models.Loaded, length: int, seed: int) -> list[int]:
    """`length` token ids drawn evenly from the vocabulary, but none that begins, ends or pads."""
    config = loaded.model.config
    special = {config.bos_token_id, config.pad_token_id, *loaded.tokenizer.eos_ids}
    ordinary = [token for token in range(config.vocab_size) if token not in special]
    return random.Random(seed).choices(ordinary, k=length)  # noqa: S311 - no secret


def _check_choices(request: RaceRequest) -> None:
    """What is wrong whatever the model is."""
    if not request.arms:
        raise BadRequest(f"no arm to run: choose from {', '.join(ARMS)}")
    if unknown := [name for name in request.arms if name not in ARMS]:
        raise BadRequest(f"unknown arm {unknown[0]!r}: choose from {', '.join(ARMS)}")
    if len(set(request.arms)) < len(request.arms):
        raise BadRequest("an arm is named twice: name each once")
    if request.order not in ORDERS:
        raise BadRequest(f"unknown order {request.order!r}: choose from {', '.join(ORDERS)}")
    if request.prompt == "" or request.prompt == 0:
        raise BadRequest(NO_PROMPT)
    if request.new_tokens < 1 or request.batch < 1:
        raise BadRequest("ask for at least 1 new token, in a batch of at least 1")
    _sampler(request)  # refuses a bad temperature, top_k or top_p


def _check_context(request: RaceRequest, loaded: models.Loaded, prompt_tokens: int) -> None:
    context = getattr(loaded.model.config, "max_position_embeddings", None)
    if context is None or prompt_tokens + request.new_tokens - 1 <= context:
        return  # the last new token is never read, so it needs no place
    if prompt_tokens > context:
        remedy = f"shorten it to {context:,} or less"
    else:
        remedy = f"ask for at most {context - prompt_tokens + 1:,} new ones"
    raise BadRequest(
        f"a prompt of {prompt_tokens:,} tokens and {request.new_tokens:,} new ones are more than "
        f"the {context:,} that {loaded.name} can attend to: {remedy}"
    )


def _roofs(loaded: models.Loaded) -> Roofs | None:
    """This machine's, if a probe has measured them, with the overhead of this model's layers."""
    roofs = probing.known_roofs(loaded.device)
    return roofs.for_layers(loaded.shape.layers) if roofs and loaded.shape else roofs


def _sampler(request: RaceRequest) -> generate.Pick:
    return generate.sampler(request.temperature, request.top_k, request.top_p, request.seed)


def _arm(name: str, request: RaceRequest, loaded: models.Loaded, ids: list[int]) -> Arm:
    """Each start gets a sampler of its own, so that every arm draws the same random numbers."""

    def start() -> Iterator[generate.Forward]:
        eos_ids = loaded.tokenizer.eos_ids if request.stop_at_eos else ()
        prompts = [ids] * request.batch
        return ARMS[name](loaded.model, prompts, request.new_tokens, _sampler(request), eos_ids)

    return Arm(name, start)


def _settings(request: RaceRequest, loaded: models.Loaded, prompt_tokens: int) -> Settings:
    return Settings(
        prompt_tokens=prompt_tokens,
        new_tokens=request.new_tokens,
        model=loaded.name,
        batch=request.batch,
        dtype=models.dtype_name(loaded.dtype),
        attention=loaded.model.config._attn_implementation,
        layout=_layout(loaded.model),
        temperature=request.temperature,
        top_k=request.top_k,
        top_p=request.top_p,
        seed=request.seed,
        order=request.order if len(request.arms) > 1 else "alone",
        threads=torch.get_num_threads() if loaded.device.type == "cpu" else None,
        prompt=request.prompt if isinstance(request.prompt, str) else None,
    )


def _layout(model: torch.nn.Module) -> str:
    """ "fast" where `models.load` stored weights column by column, as CPUs like it."""
    return "plain" if all(weight.is_contiguous() for weight in model.parameters()) else "fast"
