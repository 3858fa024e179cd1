"""How long a learner waits after a click on Run Simulation until the chart shows its first point.

Taken in the page: a real JupyterLab in headless Chromium, the model in memory. The panel warms both
arms up first, which is most of it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from . import browser
from .stats import Figure

AT_MOST_S = 1.0
FIRST_RUN = """from labkit import models, ui
race = ui.race(models.load({name!r}))
race"""
# Clicks, and notes after how many ms the chart has a point of this run: none, or fewer than the
# last run left, means that it is not drawn yet.
CLICK = """() => {
  const panel = document.querySelector('.labkit-panel');
  const measured = () => panel.querySelector('.js-plotly-plot').data
    .find((trace) => trace.meta === 'naive-ms')?.x?.length ?? 0;
  const before = measured(), clicked = performance.now();
  const look = () => {
    const now = measured();
    if (now > 0 && (before === 0 || now < before)) resolve(performance.now() - clicked);
    else setTimeout(look, 5);
  };
  let resolve;
  const waited = new Promise((done) => { resolve = done; });
  [...panel.querySelectorAll('button')].find((b) => b.textContent.includes('Run')).click();
  look();
  return waited;
}"""


def measure(name: str, clicks: int) -> tuple[Figure, ...]:
    """Seconds from a click to the first point; each run is stopped after some points."""
    with tempfile.TemporaryDirectory() as folder, browser.jupyter_lab(Path(folder)) as address:
        browser.write_notebook(Path(folder) / "race.ipynb", FIRST_RUN.format(name=name))
        with browser.chromium_page() as page:
            browser.open_notebook(page, address.format("race.ipynb"))
            browser.run_all(page)
            page.wait_for_selector(".labkit-panel .main-svg")
            waits_s = tuple(click_and_stop(page) for _ in range(clicks))
            browser.shut_down_kernel(page)
    return (Figure("click to first point, s", waits_s, at_most=AT_MOST_S),)


def click_and_stop(page) -> float:
    """One click, and the seconds that it took."""
    wait_ms = page.evaluate(CLICK)
    page.wait_for_timeout(1500)  # more points, so that the next run's first can be told from them
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector("[role=status]:has-text('stopped')")
    return wait_ms / 1e3
