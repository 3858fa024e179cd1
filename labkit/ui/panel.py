"""What every panel of the lab is: controls, Run and Stop, progress, one status line, one figure.

A panel owns no truth. Run reads the controls into a request and hands it to the worker; the worker
asks the subclass for steps and, between two of them, draws what there is. A failure is shown in the
panel and raised again by `wait`.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import Future
from html import escape
from time import monotonic, sleep

import ipywidgets as w

from .. import models
from ..measure.machine import usable_cores
from ..models.memory import is_out_of_memory, release_memory
from ..records import Trace
from .live import Pace
from .page import Page
from .worker import shared_worker

BAD = "#D55E00"
FEW_CORES = 4  # so few that a browser's work is felt by a step


class Stopped(Exception):
    """Stop was pressed where no step could see it: in a download, say. It is no failure."""


class Panel(w.VBox):
    """Base of all panels. A subclass gives `read`, `work` and `draw`."""

    run_label = "Run Simulation"

    def __init__(self, controls: list[w.Widget], body: list[w.Widget]):
        self.traces: tuple[Trace, ...] = ()
        self._controls = controls
        self._worker = shared_worker()
        self._page = Page()
        self._future: Future | None = None
        self._stop, self._finished = threading.Event(), threading.Event()
        self.run_button = w.Button(
            description=self.run_label,
            icon="play",
            button_style="primary",
            layout={"width": "auto"},
            tooltip="Start with the settings above",
        )
        self.stop_button = w.Button(
            description="Stop", icon="stop", disabled=True, tooltip="Stop after the current step"
        )
        self.progress = w.FloatProgress(max=1.0, layout={"width": "160px"})
        self.status = w.HTML()
        self.run_button.on_click(lambda _: self.run())
        self.stop_button.on_click(lambda _: self.stop())
        bar = w.HBox([self.run_button, self.stop_button, self.progress, self.status])
        super().__init__([*controls, bar, *body, self._page])
        self.add_class("labkit-panel")
        self._say("ready")

    def __repr__(self) -> str:  # constant, so that a notebook's output can be compared
        return f"{type(self).__name__}()"

    # ---- what a subclass gives -------------------------------------------------------------------

    def read(self):
        """The controls' values as a request. Called where the button was clicked."""
        raise NotImplementedError

    def work(self, request) -> Iterator[float]:
        """Does the work on the worker's thread; after each step yields the share that is done.

        Raises ValueError, with the remedy, for a request that can't be served.
        """
        raise NotImplementedError

    def draw(self) -> None:
        """Shows what there is so far. Called between two steps, at most eight times a second."""
        raise NotImplementedError

    # ---- running ---------------------------------------------------------------------------------

    def run(self) -> None:
        """Starts, and returns at once. Does nothing while this panel's run is going."""
        if self.running:
            return
        self._stop.clear()
        self._finished.clear()
        self._lock_controls(True)
        self._say("waiting: another run has the worker" if self._worker.busy else "starting …")
        request = self.read()
        self._future = self._worker.submit(lambda: self._job(request))
        self._future.add_done_callback(self._finish)

    def stop(self) -> None:
        """Ends the run after the step that it is in; a run that still waits never starts."""
        self._stop.set()
        if self._future is not None:
            self._future.cancel()

    def wait(self, timeout_s: float | None = None) -> tuple[Trace, ...]:
        """The finished run's traces. Starts a run if none was; raises what it raised.

        Interrupting the kernel while it waits stops the run.
        """
        if self._future is None:
            self.run()
        try:
            in_time = self._finished.wait(timeout_s)
        except KeyboardInterrupt:
            self.stop()
            raise
        if not in_time:
            self.stop()
            raise TimeoutError(f"the run took longer than {timeout_s} s and was stopped")
        if not self._future.cancelled() and not isinstance(self._future.exception(), Stopped):
            self._future.result()
        return self.traces

    @property
    def running(self) -> bool:
        return self._future is not None and not self._finished.is_set()

    def _job(self, request) -> None:
        pace, start_s = Pace(), monotonic()
        for share in self.work(request):
            if pace.due():
                self._show_progress(share, monotonic() - start_s)
                self.draw()
                self._settle()
                pace.drawn()
            self.check_stop()

    def _settle(self) -> None:
        """Lets what was drawn leave this process, and the page show it, before the next timed step.

        Messages leave through a thread of the kernel, in order; flushing the output waits for it.
        After the page is idle, other processes of the browser and the server still have some
        work: on two cores they doubled a step's time until they were given 0.1 s.
        """
        sys.stdout.flush()
        self._page.wait_until_idle()
        sleep(0.1 if (usable_cores() or 1) <= FEW_CORES else 0.02)

    def check_stop(self) -> None:
        """Raises Stopped once Stop was pressed or the kernel is going down."""
        if self._stop.is_set() or not threading.main_thread().is_alive():
            raise Stopped

    def on_load(self, stage: str, share: float | None) -> None:
        """Shows how far a model's download or loading is."""
        self.check_stop()
        self.progress.value = share or 0.0
        self._say(f"{stage} …" if share is None else f"{stage}: {share:.0%}")

    def _finish(self, future: Future) -> None:
        try:
            self._show_outcome(None if future.cancelled() else future.exception())
        finally:
            self._lock_controls(False)
            self._finished.set()

    def _show_outcome(self, error: BaseException | None) -> None:
        self.draw()
        stopped = self._stop.is_set() if error is None else isinstance(error, Stopped)
        if stopped:
            self.progress.bar_style = "warning"
            self._say("stopped; what was measured so far is kept")
        elif error is None:
            self.progress.value, self.progress.bar_style = 1.0, "success"
            self._say("done")
        else:
            self._free(error)
            self.progress.bar_style = "danger"
            self._complain(message_of(error))

    def _free(self, error: BaseException) -> None:
        """Gives back the memory that the failed run's frames still hold."""
        traceback.clear_frames(error.__traceback__)
        if is_out_of_memory(error):
            self._worker.forget()
        release_memory(models.default_device())

    # ---- saying ----------------------------------------------------------------------------------

    def _show_progress(self, share: float, elapsed_s: float) -> None:
        self.progress.value = share
        left_s = elapsed_s * (1 - share) / share if share else None
        self._say("running" if left_s is None else f"running, about {left_s:.0f} s left")

    def _say(self, text: str) -> None:
        self.status.value = f'<span role="status" aria-live="polite">{escape(text)}</span>'

    def _complain(self, text: str) -> None:
        self.status.value = (
            f'<span role="alert" style="border-left:4px solid {BAD};padding-left:8px">'
            f"<b>That did not work:</b> {escape(text)}</span>"
        )

    def _lock_controls(self, locked: bool) -> None:
        if locked:
            self.progress.value, self.progress.bar_style = 0.0, "info"
        self.run_button.disabled, self.stop_button.disabled = locked, not locked
        for control in self._controls:
            _disable(control, locked)


def _disable(widget: w.Widget, disabled: bool) -> None:
    if hasattr(widget, "disabled"):
        widget.disabled = disabled
    for child in getattr(widget, "children", ()):
        _disable(child, disabled)


def message_of(error: BaseException) -> str:
    """What to tell a learner: the error's own words where it is ours, a remedy for lost memory."""
    if is_out_of_memory(error):
        return (
            "the memory ran out in the middle of the run. The model was let go of; try a shorter "
            "prompt, fewer new tokens, a 16-bit dtype or a smaller model."
        )
    if isinstance(error, ValueError):
        return str(error)
    return f"{type(error).__name__}: {error}"
