"""Opens notebooks in a real JupyterLab in headless Chromium, for the browser tests and pictures."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def chromium() -> str | None:
    """Where Chromium or Chrome is on this machine, or None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def jupyter_lab(folder: Path) -> Iterator[str]:
    """A JupyterLab over `folder`, with a token of its own; gives the address of its pages."""
    port, token = free_port(), secrets.token_hex(16)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += [f"--ServerApp.port={port}", "--LabApp.expose_app_in_browser=True"]
    command += [f"--ServerApp.root_dir={folder}", f"--IdentityProvider.token={token}"]
    log = (folder / "jupyter.log").open("w")
    # Its own settings folder: the test must not depend on, or change, the user's.
    env = os.environ | {"JUPYTERLAB_SETTINGS_DIR": str(folder / ".settings")}
    server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=env)
    try:
        # `reset`: no tabs left open by an earlier visit
        yield f"http://127.0.0.1:{port}/lab/tree/{{}}?reset&token={token}"
    finally:
        server.terminate()
        server.wait(20)
        log.close()


def write_notebook(path: Path, *cells: str) -> Path:
    """A notebook of these code cells."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, path)
    return path


@contextlib.contextmanager
def chromium_page(width: int = 1280, height: int = 900, dark: bool = False):
    """A page of a fresh browser, at the width that the lab must be readable at."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_FLAGS)
        try:
            page = browser.new_page(viewport={"width": width, "height": height})
            page.set_default_timeout(60_000)
            yield page
        finally:
            browser.close()


def open_notebook(page, address: str) -> None:
    """Opens a notebook and waits until its kernel is idle."""
    from playwright.sync_api import Error

    for attempt in range(60):  # the server needs a few seconds to come up
        try:
            page.goto(address)
            break
        except Error:
            if attempt == 59:
                raise
            page.wait_for_timeout(500)
    wait_for_kernel(page)


def wait_for_kernel(page) -> None:
    """Waits until the open notebook has an idle kernel."""
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    kernel = "window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel"
    page.wait_for_function(f"() => {kernel}?.status === 'idle'")


def shut_down_kernel(page) -> None:
    """Ends the open notebook's kernel, and with it whatever it still runs."""
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")


def run_all(page) -> None:
    """Runs all cells of the open notebook and waits until they have run."""
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")


def save(page) -> None:
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
