"""Whether a panel that is started and stopped many times leaves threads or memory behind."""

from __future__ import annotations

import gc
import threading
from time import sleep
from typing import TYPE_CHECKING

import psutil

from .kernel import in_kernel
from .stats import Figure

if TYPE_CHECKING:
    from .. import ui

AT_MOST_GROWTH = 0.02
FIRST_CYCLES = 20  # until allocators and caches have what they keep


def measure(cycles: int = 200) -> tuple[Figure, ...]:
    """Threads and resident memory after `cycles` starts and stops, against before."""
    before, after = in_kernel(__name__, "threads_and_bytes", cycles=cycles)
    growth = after[1] / before[1] - 1
    return (
        Figure("threads left behind", (after[0] - before[0],), at_most=0),
        Figure("memory growth, %", (growth * 100,), at_most=AT_MOST_GROWTH * 100),
    )


def threads_and_bytes(cycles: int) -> list[list[int]]:
    """Threads and resident bytes before and after. Run in a kernel."""
    from .. import models, ui

    panel = ui.race(model=models.load("toy"), new_tokens=2000)
    for cycle in range(FIRST_CYCLES):
        start_and_stop(panel, cycle)
    before = now()
    for cycle in range(cycles):
        start_and_stop(panel, cycle)
    return [before, now()]


def start_and_stop(panel: ui.Race, cycle: int) -> None:
    """Stops at another moment each time: before the first step, in the warm-up, between steps."""
    panel.run()
    sleep(cycle % 10 * 0.005)
    panel.stop()
    panel.wait()


def now() -> list[int]:
    """Threads and resident bytes of this process."""
    gc.collect()
    return [threading.active_count(), psutil.Process().memory_info().rss]
