"""`python -m labkit diagnose`: text and JSON out, and messages that name the remedy."""

from __future__ import annotations

import io
import json
import sys

import pytest
from test_reports_formats import sample

from labkit.cli import main


def test_the_command_reads_standard_input_and_prints_json(monkeypatch, capsys):
    text = sample("Ollama, a line missing because it was zero")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["diagnose", "-", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["label"] == "decode-bound"
    assert told["reports"][0]["output_tokens"] == 200


def test_the_command_takes_facts_beside_the_paste(tmp_path, capsys):
    paste = tmp_path / "paste.txt"
    paste.write_text(sample("llama-server JSON with cached tokens"), encoding="utf-8")
    context = "Llama 8B Q4_K_M"
    assert main(["diagnose", str(paste), "--machine", "RTX-4090", "--context", context]) == 0
    assert "overhead-bound, limiter host-overhead" in capsys.readouterr().out


@pytest.mark.parametrize("data", [b"", bytes(range(256)), b"The quick brown fox.\n"])
def test_text_without_metrics_is_told_what_to_paste(data, tmp_path, capsys):
    (tmp_path / "paste.txt").write_bytes(data)
    assert main(["diagnose", str(tmp_path / "paste.txt")]) == 0
    told = capsys.readouterr().out
    assert told.startswith("insufficient-data\n")
    assert "TTFT 0.4 s" in told


def test_a_file_of_windows_shell_is_read(tmp_path, capsys):
    (tmp_path / "paste.txt").write_text("TTFT 50 ms, 2 tok/s", encoding="utf-16")
    main(["diagnose", str(tmp_path / "paste.txt")])
    assert "decode-bound" in capsys.readouterr().out


def test_the_command_says_what_it_cant_read(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["diagnose", str(tmp_path / "none.txt")])
    assert "can't read" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["diagnose", str(tmp_path)])
    assert "directory" in capsys.readouterr().err


def test_unknown_machines_are_named_with_their_neighbours(tmp_path, capsys):
    (tmp_path / "paste.txt").write_text("TTFT 1 s", encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["diagnose", str(tmp_path / "paste.txt"), "--machine", "H900"])
    assert "H100-SXM" in capsys.readouterr().err
