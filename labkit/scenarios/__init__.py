"""Exercises in diagnosis."""

from .truth import LIMITERS, PHASES, REMEDIES, Truth

__all__ = ["LIMITERS", "PHASES", "REMEDIES", "Truth"]
