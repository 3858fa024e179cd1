"""The panels of the lessons: controls, one figure, one status line. The only place with widgets.

Each function makes a panel; show it by ending a cell with it. Nothing runs until its button is
clicked, or `wait` is called in a later cell, which gives the run's traces.
"""

from collections.abc import Sequence

from .. import models
from .device import DeviceCard
from .race import FirstTokens, Race
from .stepper import Stepper

__all__ = ["DeviceCard", "FirstTokens", "Race", "Stepper", "device_card", "first_tokens", "race"]
__all__ += ["stepper"]

QUESTION = "Why is the sky blue?"


def device_card(device: str | None = None) -> DeviceCard:
    """What this machine is: processor, memory, versions."""
    return DeviceCard(device)


def first_tokens(
    model: str | models.Loaded = models.DEFAULT, prompt: str = QUESTION, new_tokens: int = 48
) -> FirstTokens:
    """Loads a model, the first time from the network, and lets it write."""
    return FirstTokens(model, prompt, new_tokens)


def race(
    model: str | models.Loaded = models.DEFAULT,
    prompt: str | int = QUESTION,
    new_tokens: int = 64,
    arms: Sequence[str] = ("naive", "cached"),
    order: str = "interleaved",
) -> Race:
    """Naive against cached, live. `prompt` is a text, or a number of random tokens."""
    return Race(model, prompt, new_tokens, arms, order)


def stepper(
    model: str | models.Loaded = models.DEFAULT, prompt: str = "The capital of France is"
) -> Stepper:
    """Generation by hand, one token at each click."""
    return Stepper(model, prompt)
