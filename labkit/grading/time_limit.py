"""Ends a learner's function that does not end by itself.

Python lets a thread watch itself: before each line of the function the clock is looked at. A call
into a library that takes long inside can't be ended this way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic


class TookTooLong(BaseException):
    """The limit has passed. No `Exception`, so that the function's own `except` lets it through."""


@contextmanager
def time_limit(limit_s: float) -> Iterator[None]:
    """Raises TookTooLong in whatever Python code is called from here after `limit_s`."""
    end_s = monotonic() + limit_s

    def watch(_frame, _event: str, _arg) -> Callable:
        if monotonic() > end_s:
            raise TookTooLong
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        yield
    finally:
        sys.settrace(before)
