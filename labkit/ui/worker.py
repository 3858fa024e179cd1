"""The one thread that all panels run on, and the one model that it keeps in memory.

One, because two runs at once would slow each other and both would measure wrongly; and because
torch's inference mode and CUDA graphs belong to the thread that made them. A button's callback
hands a job over and returns at once, so that the kernel stays free.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

from .. import models


class Worker:
    """Runs one job at a time, in order. `busy` is true while a job runs or waits."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="labkit-worker")
        self._last: Future | None = None
        self._loaded: models.Loaded | None = None
        self._key: tuple | None = None

    @property
    def busy(self) -> bool:
        return self._last is not None and not self._last.done()

    def submit(self, job: Callable[[], None]) -> Future:
        """Queues `job`; its result or exception is the returned future's."""
        self._last = self._thread.submit(job)
        return self._last

    def load(self, name: str, device: str, dtype: str, progress: Callable) -> models.Loaded:
        """The model asked for: the one in memory if it is the same, else loaded after letting go
        of that one. Call it from a job."""
        key = (name, device, dtype)
        if self._loaded is None or self._key != key:
            self.forget()
            self._loaded = models.load(name, device, dtype, progress)
            self._key = key
        return self._loaded

    def forget(self) -> None:
        """Lets go of the model in memory."""
        self._loaded = self._key = None


@cache
def shared_worker() -> Worker:
    """The worker of this process, made when first asked for."""
    return Worker()
