"""Models by Hugging Face id, fetched from a hub that runs in this process.

The hub's library reads its address once, when imported, so what is tested runs in a child process,
once for all tests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest
from fake_hub import serve
from test_models_text import word_text
from toys import tiny_model

from labkit.models import errors, hub

CHILD = """
import json, os
from labkit import models
from labkit.models import loading

def attempt(name):
    seen = []
    try:
        loaded = models.load(name, "cpu", progress=lambda *report: seen.append(report))
        return [loaded.kind, loaded.shape.layers, seen]
    except models.ModelError as error:
        return [type(error).__name__, str(error), seen]

def fetched():
    cache = os.path.join(os.environ["HF_HOME"], "hub", "models--lab--toy", "snapshots", "1" * 40)
    return sorted(os.listdir(cache))

free_bytes, loading.free_bytes = loading.free_bytes, lambda device: 1000
found = {"too large": [attempt("lab/toy"), fetched()]}
loading.free_bytes = free_bytes
names = ("lab/toy", "lab/gated", "lab/none", "not/a/name")
found |= {name: attempt(name) for name in names}
found |= {"again": attempt("lab/toy"), "files": fetched()}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What came of asking the hub for several names."""
    folder = tmp_path_factory.mktemp("repository")
    tiny_model("llama").save_pretrained(folder)
    word_text().tokenizer.save_pretrained(folder)
    for unwanted in ("consolidated.safetensors", "pytorch_model.bin", "run_me.py"):
        (folder / unwanted).write_text("not wanted")
    server = serve(folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = {"HF_HOME": str(tmp_path_factory.mktemp("hub"))}
    address = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}"}
    try:
        child = subprocess.run(
            [sys.executable, "-c", CHILD],
            env=os.environ | home | address,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
    finally:
        server.shutdown()
        server.server_close()
    assert child.returncode == 0, child.stderr
    assert child.stderr == ""
    return json.loads(child.stdout)


def test_a_repository_is_fetched_and_loaded_with_progress(found):
    kind, layers, seen = found["lab/toy"]
    assert (kind, layers) == ("hub", 2)
    assert [stage for stage, _ in seen][:2] == ["looking it up", "downloading"]
    assert seen[-1] == ["ready", 1.0]


def test_only_weights_config_and_tokenizer_are_fetched(found):
    assert set(found["files"]) == {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }


def test_a_second_load_downloads_nothing(found):
    stages = [stage for stage, _ in found["again"][2]]
    assert stages == ["looking it up", "loading", "ready"]


def test_what_is_too_large_is_not_downloaded(found):
    (error, text, _), fetched = found["too large"]
    assert error == "TooLarge"
    assert "does not fit" in text
    assert fetched == ["config.json"]


@pytest.mark.parametrize(
    ("name", "error", "remedy"),
    [
        ("lab/gated", "DownloadFailed", "accept its licence"),
        ("lab/none", "UnknownModel", "hf auth login"),
        ("not/a/name", "UnknownModel", "Give a name from the list"),
    ],
)
def test_a_refusal_names_the_remedy(found, name, error, remedy):
    assert found[name][0] == error
    assert remedy in found[name][1]


def test_a_mistyped_name_is_answered_at_once_with_its_neighbours():
    with pytest.raises(errors.UnknownModel, match=r"Did you mean Llama-3\.1-8B"):
        hub.fetch_config("lama-3.1-8b", ["GPT-2", "Llama-3.1-8B"])


def test_no_network_says_so_and_offers_a_folder(monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(errors.DownloadFailed, match=r"No network.*local folder"):
        hub.fetch_config("nobody/nothing", [])
