"""What a learner has tried, kept between visits: one JSON file in the user's data directory.

The file is written whole and moved into place, under a lock, so that two notebooks at once lose
nothing. One that can't be read is set aside: practice starts anew and says so. Where nothing can
be written, progress lasts as long as the kernel. No answer's text is kept, only how it was judged.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import filelock
import platformdirs

from .records.files import BrokenFile, build

SCHEMA = "labkit-progress-1"
FILE = "progress.json"
MOST = 5000  # attempts that are kept, the newest
LOCK_S = 5


def data_folder() -> Path:
    """$LABKIT_DATA, or the user's data directory of this system."""
    return Path(os.environ.get("LABKIT_DATA") or platformdirs.user_data_dir("labkit"))


@dataclass(frozen=True)
class Attempt:
    """One answer to a scenario: the grade's word, or "skipped". `helped`: after its solution."""

    scenario: str
    level: int
    verdict: str
    points: int
    at: str  # ISO 8601, UTC
    helped: bool = False


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Book:
    """The attempts so far. `note` says what could not be read or kept; empty if all is well."""

    def __init__(self, folder: Path | None = None):
        self.path = (folder or data_folder()) / FILE
        self.note = ""
        self.attempts: tuple[Attempt, ...] = ()
        try:
            self.attempts = self._read()
        except OSError as error:
            self.note = _not_kept(error)

    def add(self, attempt: Attempt) -> None:
        """Adds one to what the file holds by now, which another notebook may have written."""
        self.attempts = (*self.attempts, attempt)[-MOST:]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with filelock.FileLock(f"{self.path}.lock", timeout=LOCK_S):
                self.attempts = (*self._read(), attempt)[-MOST:]
                _write(self.path, self.attempts)
        except OSError as error:  # also the lock's timeout
            self.note = _not_kept(error)

    def _read(self) -> tuple[Attempt, ...]:
        try:
            return _attempts(self.path.read_bytes())
        except FileNotFoundError:
            return ()
        except BrokenFile as error:
            aside = self.path.with_suffix(".broken.json")
            self.path.replace(aside)
            self.note = f"Your progress could not be read ({error}) and starts anew; see {aside}."
            return ()


def _attempts(data: bytes) -> tuple[Attempt, ...]:
    """Raises BrokenFile, with the place, for anything but what `_write` writes."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise BrokenFile(f"not JSON: {str(error)[:80]}") from error
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise BrokenFile(f'it lacks "schema": "{SCHEMA}"')
    return build(tuple[Attempt, ...], found.get("attempts"), "attempts")


def _write(path: Path, attempts: tuple[Attempt, ...]) -> None:
    """Whole or not at all: a scratch file in the same folder, then one rename."""
    rows = [asdict(attempt) for attempt in attempts]
    scratch, name = tempfile.mkstemp(dir=path.parent, prefix=FILE)
    try:
        with os.fdopen(scratch, "w", encoding="utf-8") as file:
            json.dump({"schema": SCHEMA, "attempts": rows}, file, ensure_ascii=False, indent=1)
        os.replace(name, path)
    except OSError:
        with suppress(OSError):
            os.unlink(name)
        raise


def _not_kept(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"Your progress can't be kept here ({reason}); it lasts until the kernel ends."
