"""Lesson 01's panel: generation one token at a time, by hand.

Each press of **Next token** runs the naive loop once and shows what that pass read, what it found
likely, and how much of the reading a cache would have spared. Nothing is timed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

import ipywidgets as w
import torch

from .. import generate, models
from .controls import WIDE, ModelControls
from .panel import Panel

SHOWN = 5
PLAY_TOKENS = 40
PAUSE_S = 0.4  # between the tokens of Play: slow enough to read along
SPARED, READ = "#808080", "#0072B2"


@dataclass(frozen=True)
class Glimpse:
    """One pass: the token texts it read, the likeliest next tokens with their chances, the pick."""

    read: tuple[str, ...]
    likeliest: tuple[tuple[str, float], ...]
    picked: str
    spared: int  # tokens of `read` whose keys and values an earlier pass had computed already


@dataclass(frozen=True)
class StepRequest:
    """How many tokens to make, and from what if the text begins anew."""

    tokens: int
    prompt: str


class Stepper(Panel):
    """Next token, Play, Reset, and a temperature that acts on the next token."""

    run_label = "Play"

    def __init__(self, model: str | models.Loaded, prompt: str):
        self._model = ModelControls(model)
        self._prompt = w.Text(value=prompt, description="Prompt", layout={"width": "60%"})
        self.temperature = w.FloatSlider(
            value=0.0,
            max=2.0,
            step=0.1,
            description="Temperature (0 is greedy)",
            style=WIDE,
            layout={"width": "360px"},
        )
        self.next_button = w.Button(description="Next token", icon="step-forward")
        self.reset_button = w.Button(description="Reset", icon="undo")
        self._view = w.HTML()
        self._tokens_asked = PLAY_TOKENS
        buttons = w.HBox([self.next_button, self.reset_button])
        self._buttons = buttons
        super().__init__([self._model, self._prompt, buttons], [self.temperature, self._view])
        self.next_button.on_click(lambda _: self.next_token())
        self.reset_button.on_click(lambda _: self.reset())
        self.reset()

    def next_token(self) -> None:
        """Starts one pass; returns at once."""
        self._tokens_asked = 1
        self.run()
        self._tokens_asked = PLAY_TOKENS

    def reset(self) -> None:
        """Back to the prompt."""
        self.glimpses: list[Glimpse] = []
        self.ids: list[int] = []
        self._started_from: tuple | None = None
        self.draw()

    def read(self) -> StepRequest:
        return StepRequest(self._tokens_asked, self._prompt.value)

    def work(self, request: StepRequest) -> Iterator[float]:
        loaded = self._model.load(self._worker, self.on_load)
        if self._started_from != (loaded.name, request.prompt):
            self.reset()
            self.ids = loaded.tokenizer.encode(request.prompt)
            self._started_from = (loaded.name, request.prompt)
        if not self.ids:
            raise ValueError("the prompt is empty: type a few words")
        for made in range(1, request.tokens + 1):
            self.glimpses.append(self._one_token(loaded))
            yield made / request.tokens
            if self.ids[-1] in loaded.tokenizer.eos_ids:
                return
            if made < request.tokens:
                self._stop.wait(PAUSE_S)

    def _one_token(self, loaded: models.Loaded) -> Glimpse:
        decode = loaded.tokenizer.decode
        with torch.inference_mode():
            ids = torch.tensor([self.ids], device=loaded.device)
            logits = generate.last_logits(loaded.model, ids)
            temperature = self.temperature.value
            pick = generate.sampler(temperature, seed=len(self.ids))
            picked = pick(logits).item()
            chances = generate.probabilities(logits, temperature or 1.0)[0]
            best = chances.topk(SHOWN)
        likeliest = [
            (decode([i]), p)
            for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]
        read = tuple(decode([i]) for i in self.ids)
        spared = len(self.ids) - 1 if self.glimpses else 0
        self.ids.append(picked)
        return Glimpse(read, tuple(likeliest), decode([picked]), spared)

    def draw(self) -> None:
        self._view.value = view(self.glimpses)


# ---- the view, as HTML ---------------------------------------------------------------------------


def view(glimpses: list[Glimpse]) -> str:
    """The last pass: what it read, what it found likely, and the account so far."""
    if not glimpses:
        return "<p>Press <b>Next token</b>: the model will read the whole prompt once.</p>"
    last = glimpses[-1]
    chips = [_chip(text, place < last.spared) for place, text in enumerate(last.read)]
    rows = "".join(map(_row, last.likeliest, [last.picked] * len(last.likeliest)))
    return (
        f"<p><b>Pass {len(glimpses)}</b> read {len(last.read)} tokens:</p>"
        f'<div style="line-height:2">{"".join(chips)} → {_chip(last.picked, False)}</div>'
        f"<table><caption>The likeliest next tokens</caption>{rows}</table>"
        f"<p>{account(glimpses)}</p>"
    )


def account(glimpses: list[Glimpse]) -> str:
    """One sentence: tokens read so far, and how many a cache would have spared."""
    read = sum(len(g.read) for g in glimpses)
    spared = sum(g.spared for g in glimpses)
    return (
        f"So far {len(glimpses)} passes have read {read} tokens. A KV cache would have spared "
        f"{spared} of them (grey): an earlier pass had computed their keys and values already."
    )


def _chip(text: str, spared: bool) -> str:
    color = SPARED if spared else READ
    border = f"1px {'dashed' if spared else 'solid'} {color}"
    style = f"border:{border};border-radius:3px;padding:1px 3px;margin:1px;white-space:pre"
    return f'<span style="{style}">{escape(text) or "∅"}</span>'


def _row(candidate: tuple[str, float], picked: str) -> str:
    text, chance = candidate
    bar = f'<div style="background:{READ};height:10px;width:{chance * 200:.0f}px"></div>'
    mark = " ← picked" if text == picked else ""
    return (
        f'<tr><td style="white-space:pre;text-align:left">{escape(repr(text))}</td>'
        f"<td>{chance:.1%}</td><td>{bar}</td><td>{mark}</td></tr>"
    )
