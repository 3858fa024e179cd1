"""The lab in a real JupyterLab in headless Chromium: click, watch the curves grow, stop, reload.

Skipped with the reason where no browser is installed; under CI that is a failure instead.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from labkit import records
from labkit.bench import browser

if browser.chromium() is None and not os.environ.get("CI"):
    pytest.skip("no Chromium here: install Debian's package `chromium`", allow_module_level=True)

MANY = 4000  # tokens of the toy: long enough to look at the run while it goes
FRESH = "from ipywidgets import Widget\nWidget.close_all()  # those of the test before"
RACE = f'from labkit import ui\nrace = ui.race("toy", prompt="abc", new_tokens={MANY})\nrace'
ANOTHER = 'another = ui.race("toy", prompt="abc", new_tokens=4)\nanother'

# Number of points of the cached arm's ms per token in a panel's chart.
POINTS = """(n) => {
  const chart = document.querySelectorAll('.labkit-panel')[n]?.querySelector('.js-plotly-plot');
  return chart?.data?.find((trace) => trace.meta === 'cached-ms')?.x?.length ?? 0;
}"""
STOP_ALL = """() => document.querySelectorAll('.labkit-panel button')
  .forEach((button) => button.title.startsWith('Stop') && button.click())"""
SAYS = """([n, words]) => document.querySelectorAll('.labkit-panel')[n]
  ?.querySelector('[role=status], [role=alert]')?.textContent.includes(words)"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    """A notebook with two panels of the toy, open in JupyterLab in a browser of its own."""
    folder = tmp_path_factory.mktemp("lab")
    browser.write_notebook(folder / "lab.ipynb", FRESH, RACE, ANOTHER, "6 * 7")
    with browser.jupyter_lab(folder) as address, browser.chromium_page() as page:
        browser.open_notebook(page, address.format("lab.ipynb"))
        yield page
        browser.shut_down_kernel(page)


@pytest.fixture
def page(tab):
    """The notebook with panels that nobody has used; afterwards their runs are stopped."""
    browser.wait_for_kernel(tab)
    browser.run_all(tab)
    tab.wait_for_function("() => document.querySelectorAll('.main-svg').length >= 2")
    yield tab
    tab.evaluate(STOP_ALL)


def click(page, name: str, panel: int = 0) -> None:
    page.locator(".labkit-panel").nth(panel).get_by_role("button", name=name).click()


def wait_until_it_says(page, words: str, panel: int = 0) -> None:
    page.wait_for_function(SAYS, arg=[panel, words])


def wait_for_points(page, more_than: int = 0, panel: int = 0) -> int:
    page.wait_for_function(f"([n, m]) => ({POINTS})(n) > m", arg=[panel, more_than])
    return page.evaluate(POINTS, panel)


def test_both_curves_grow_while_the_run_goes_and_stop_ends_it(page):
    click(page, "Run Simulation")
    early = wait_for_points(page)
    late = wait_for_points(page, more_than=early)
    click(page, "Stop")
    wait_until_it_says(page, "stopped")
    assert early < late < MANY
    stopped_at = page.evaluate(POINTS, 0)
    page.wait_for_timeout(500)
    assert page.evaluate(POINTS, 0) == stopped_at


def test_a_chart_has_the_width_of_its_panel_before_any_run(page):
    page.wait_for_function("""() => {
      const panel = document.querySelector('.labkit-panel');
      const plot = panel.querySelector('.main-svg');
      return plot.clientWidth > 0.9 * panel.clientWidth;
    }""")


def test_the_kernel_answers_other_cells_while_a_run_goes(page):
    click(page, "Run Simulation")
    wait_for_points(page)
    last = page.locator(".jp-CodeCell").nth(3)
    last.locator(".cm-content").fill("6 * 7 + 1000")
    page.keyboard.press("Control+Enter")
    last.locator(".jp-OutputArea-output", has_text="1042").wait_for(timeout=5_000)
    assert page.evaluate(SAYS, [0, "running"])


def test_a_second_panel_says_that_it_waits_and_runs_when_the_worker_is_free(page):
    click(page, "Run Simulation")
    wait_for_points(page)
    click(page, "Run Simulation", panel=1)
    wait_until_it_says(page, "waiting", panel=1)
    click(page, "Stop")
    wait_until_it_says(page, "done", panel=1)
    assert wait_for_points(page, panel=1) == 4


def test_a_page_reloaded_during_and_after_a_run_shows_the_run(page):
    click(page, "Run Simulation")
    before = wait_for_points(page)
    browser.save(page)
    page.reload()
    assert wait_for_points(page) >= before
    click(page, "Stop")
    wait_until_it_says(page, "stopped")
    at_stop = page.evaluate(POINTS, 0)
    page.reload()
    assert wait_for_points(page) == at_stop
    wait_until_it_says(page, "stopped")


def test_the_browser_saves_json_csv_and_a_picture(page):
    click(page, "Run Simulation", panel=1)
    wait_until_it_says(page, "done", panel=1)
    for button, ending in (("Export JSON", "json"), ("Export CSV", "csv"), ("Export PNG", "png")):
        with page.expect_download() as download:
            click(page, button, panel=1)
        assert download.value.suggested_filename.endswith(ending)
    with page.expect_download() as download:
        click(page, "Export JSON", panel=1)
    saved = records.parse(Path(download.value.path()).read_text())
    assert [len(trace.steps) for trace in saved] == [4, 4]


def test_a_run_can_be_started_and_stopped_from_the_keyboard(page):
    panel = page.locator(".labkit-panel").first
    panel.get_by_role("button", name="Run Simulation").focus()
    page.keyboard.press("Enter")
    wait_for_points(page)
    panel.get_by_role("button", name="Stop").focus()
    page.keyboard.press("Space")
    wait_until_it_says(page, "stopped")


def test_bad_input_is_said_in_the_panel(page):
    panel = page.locator(".labkit-panel").nth(1)
    panel.get_by_label("New tokens").fill("0")
    panel.get_by_label("New tokens").press("Tab")
    click(page, "Run Simulation", panel=1)
    wait_until_it_says(page, "at least 1", panel=1)


def test_the_ladder_is_climbed_rung_by_rung(page):
    last = page.locator(".jp-CodeCell").last
    last.locator(".cm-content").fill('ui.ladder("toy", new_tokens=6)')
    page.keyboard.press("Control+Enter")
    climb = page.get_by_role("button", name="Climb")
    panel = page.locator(".labkit-panel", has=climb)
    climb.click()
    panel.get_by_text("speculative: guesses from the text").wait_for()  # the last rung is told
    panel.get_by_role("button", name="Stop", disabled=True).wait_for()
    assert panel.locator(".js-plotly-plot .yaxislayer-above .ytick").count() == 5
    last.locator(".cm-content").fill("6 * 7")


def test_slots_fill_while_both_policies_serve_and_stop_ends_them(page):
    last = page.locator(".jp-CodeCell").last
    last.locator(".cm-content").fill('ui.batching("toy", requests=200, answers=(100, 256))')
    page.keyboard.press("Control+Enter")
    panel = page.locator(".labkit-panel", has=page.get_by_label("Arrivals a second"))
    panel.get_by_role("button", name="Run Simulation").click()
    panel.get_by_text("Both are still serving").wait_for()
    panel.get_by_role("button", name="Stop").click()
    panel.get_by_text("stopped; what was measured").wait_for()
    stays = """(chart) => ['static', 'continuous'].map((policy) =>
      chart.data.find((trace) => trace.meta === `${policy}-answer`).x.length)"""
    assert min(panel.locator(".js-plotly-plot").evaluate(stays)) >= 2
    last.locator(".cm-content").fill("6 * 7")


def test_a_paste_gets_its_card_and_its_tags_stay_text(page):
    last = page.locator(".jp-CodeCell").last
    last.locator(".cm-content").fill("ui.paste_box()")
    page.keyboard.press("Control+Enter")
    panel = page.locator(".labkit-panel", has=page.get_by_label("Metrics of a server"))
    metrics = "TTFT 50 ms, 2 tokens/s, 100 output tokens, model <img src=x onerror=alert(1)>"
    panel.get_by_label("Metrics of a server").fill(metrics)
    panel.get_by_role("button", name="Diagnose").click()
    panel.get_by_text("decode-bound").wait_for()
    panel.locator(".bartext", has_text="100 %").wait_for()  # 99 × 500 ms after 50 ms
    assert panel.locator("img").count() == 0
    panel.get_by_label("Metrics of a server").fill("lorem ipsum")
    panel.get_by_role("button", name="Diagnose").click()
    panel.get_by_role("alert").get_by_text("was recognised").wait_for()
    last.locator(".cm-content").fill("6 * 7")
