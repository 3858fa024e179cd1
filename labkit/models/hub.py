"""From a Hugging Face id to a local folder that holds what a causal LM needs, and nothing else.

Downloads go to the hub's own cache, so a model that other programs have fetched is not fetched
again, and what was interrupted resumes. Whether the files are any good is for `files` to find out.
"""

from __future__ import annotations

import contextlib
import difflib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import DownloadFailed, UnknownModel
from .wheel import Progress

if TYPE_CHECKING:
    from tqdm import tqdm

WANTED = ["*.safetensors", "*.json", "*.jinja", "*.model", "*.txt"]  # weights, config, tokenizer
UNWANTED = ["*/*", "consolidated*"]  # other formats of the same weights


def fetch_config(name: str, known: list[str]) -> Path:
    """The folder that holds the config.json of `name`, downloaded if need be.

    `known` names serve as suggestions. Raises UnknownModel or DownloadFailed.
    """
    from huggingface_hub import hf_hub_download

    if "/" not in name:
        raise UnknownModel(f"There is no model {name!r}. {_advice(name, known)}")
    with _readable_errors(name, known):
        return Path(hf_hub_download(name, "config.json")).parent


def fetch_model(name: str, known: list[str], progress: Progress) -> Path:
    """The folder with the weights and tokenizer of `name`; progress follows the bytes arrived.

    Raises UnknownModel or DownloadFailed.
    """
    from huggingface_hub import snapshot_download

    with _readable_errors(name, known):
        return Path(
            snapshot_download(
                name,
                allow_patterns=WANTED,
                ignore_patterns=UNWANTED,
                tqdm_class=_silent_bar(progress),
            )
        )


def _silent_bar(progress: Progress) -> type[tqdm]:
    """A progress bar for the hub's library that draws nothing and passes its fraction on."""
    from tqdm import tqdm

    class SilentBar(tqdm):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **(options | {"file": io.StringIO()}))

        def update(self, n: float | None = 1) -> None:
            super().update(n)
            if self.unit == "B" and self.total:  # the other bars count files
                progress("downloading", min(1.0, self.n / self.total))

    return SilentBar


@contextlib.contextmanager
def _readable_errors(name: str, known: list[str]) -> Iterator[None]:
    """What the hub's library raises, as an error that names the remedy."""
    from huggingface_hub import errors

    try:
        yield
    except errors.GatedRepoError as error:
        raise DownloadFailed(
            f"{name} asks for consent first: accept its licence on its page at the hub, run "
            "`hf auth login`, and try again."
        ) from error
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        raise UnknownModel(
            f"The hub has no public model {name!r}. {_advice(name, known)} For a private one, run "
            "`hf auth login` first."
        ) from error
    except errors.RemoteEntryNotFoundError as error:
        raise UnknownModel(f"{name} has no config.json, so it is no transformers model.") from error
    except errors.LocalEntryNotFoundError as error:
        raise DownloadFailed(
            f"No network: the hub could not be reached to fetch {name}, and it was not fetched "
            "before. Connect and try again, or give a local folder."
        ) from error
    except (errors.HTTPError, OSError) as error:
        raise DownloadFailed(
            f"Fetching {name} was cut short: {first_line(error)} Check the network and the free "
            "disk space and try again; what has arrived is kept."
        ) from error


def _advice(name: str, known: list[str]) -> str:
    lower = {other.lower(): other for other in known}
    close = [lower[n] for n in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.5)]
    suggestion = f"Did you mean {' or '.join(close)}? " if close else ""
    return f"{suggestion}Give a name from the list, a Hugging Face id (owner/name) or a folder."


def first_line(error: BaseException) -> str:
    """The first line of a library's error, as a sentence of at most 200 characters."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    return line.rstrip(".") + "."
