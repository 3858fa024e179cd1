"""Takes the pictures of the README and of the lessons' heads: real runs, in JupyterLab in Chromium.

    python docs/pictures.py            # all of them
    python docs/pictures.py 03 05      # those of two lessons

Each lesson is run from top to bottom, so do it on an idle machine: what the charts show was
measured while the pictures were taken.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from labkit.bench import browser

DOCS = Path(__file__).parent
LESSONS = DOCS.parent / "notebooks"
# lesson -> (which of its panels, what of the panel)
TALLEST = 1050  # pixels; the tables below a run are longer
CHART, PANEL = ".js-plotly-plot", ".labkit-panel"
PICTURES = {
    "00": (1, CHART),
    "01": (0, PANEL),
    "02": (2, CHART),
    "03": (0, PANEL),
    "04": (0, CHART),
    "05": (0, CHART),
    "06": (0, CHART),
    "07": (1, CHART),
    "08": (0, CHART),
    "09": (4, CHART),
}


def take(page, lesson: str, address: str) -> None:
    """Runs all of a lesson and photographs one of its panels into docs/<lesson>.png."""
    number, part = PICTURES[lesson]
    browser.open_notebook(page, address)
    page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")
    browser.run_all(page)
    panel = page.locator(".labkit-panel").nth(number)
    panel.scroll_into_view_if_needed()
    if lesson == "01":
        step_by_hand(page, panel)
    page.wait_for_timeout(2000)  # the chart's last update
    shown = panel if part == PANEL else panel.locator(part)
    box = shown.bounding_box()
    page.screenshot(path=DOCS / f"{lesson}.png", clip=box | {"height": min(box["height"], TALLEST)})


def step_by_hand(page, panel) -> None:
    """The stepper runs nothing by itself."""
    for number in range(1, 6):
        panel.get_by_role("button", name="Next token").click()
        panel.get_by_text(f"Pass {number}").first.wait_for()


def main(lessons: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(LESSONS, folder, dirs_exist_ok=True)
        with browser.jupyter_lab(folder) as address:
            for lesson in lessons or PICTURES:
                (path,) = folder.glob(f"{lesson}_*.ipynb")
                with browser.chromium_page(height=2400) as page:
                    take(page, lesson, address.format(path.name))
                    browser.shut_down_kernel(page)


if __name__ == "__main__":
    main(sys.argv[1:])
