"""The command line: results on standard output, complaints on standard error, nothing lost."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from labkit import experiments, generate
from labkit.cli import main
from labkit.cli.generate import pieces
from labkit.cli.output import Progress
from labkit.records import from_csv, from_json

RACE = ["race", "--model", "toy", "--device", "cpu", "--prompt", "abc", "--new-tokens", "6"]


def test_a_race_is_told_as_heading_table_and_sentence(capsys):
    assert main(RACE) == 0
    out, err = capsys.readouterr()
    assert "toy in float32" in out
    assert "first token (TTFT)" in out
    assert "times as long; identical so far: 6 tokens." in out
    assert err == ""  # no progress line where nobody watches


def test_json_stands_alone_on_standard_output(capsys):
    options = ["--arms", "cached", "preallocated", "--order", "one-after-the-other", "--json"]
    assert main(RACE + options) == 0
    cached, preallocated = from_json(capsys.readouterr().out)
    assert (cached.arm, preallocated.arm) == ("cached", "preallocated")
    assert cached.settings.order == "one after the other"
    assert len(cached.steps) == 6


def test_files_hold_what_the_table_sums_up(tmp_path, capsys):
    json, csv = tmp_path / "race.json", tmp_path / "race.csv"
    assert main([*RACE, "--json", str(json), "--csv", str(csv)]) == 0
    assert "first token (TTFT)" in capsys.readouterr().out
    traces = from_json(json.read_text())
    assert [trace.arm for trace in traces] == ["naive", "cached"]
    assert from_csv(csv.read_text()) == traces


def test_a_prompt_can_be_given_by_its_length(capsys):
    main(["race", "--model", "toy", "--prompt-length", "17", "--new-tokens", "2", "--json"])
    assert from_json(capsys.readouterr().out)[0].settings.prompt_tokens == 17


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (["--prompt", ""], "write something"),
        (["--new-tokens", "0"], "at least 1"),
        (["--new-tokens", "1000000"], "ask for at most"),
        (["--prompt", "x" * 9000], "shorten it to 8,192"),
        (["--arms", "warp"], "choose from naive"),
        (["--device", "abacus"], "this machine has"),
        (["--dtype", "float12"], "use one of float32"),
    ],
)
def test_a_bad_request_costs_one_line_and_exit_code_2(options, remedy, capsys):
    assert main(RACE + options) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("labkit: ")
    assert err.count("\n") == 1
    assert remedy in err


@pytest.mark.parametrize("name", ["missing/race.json", "."])
def test_a_file_that_cannot_be_written_is_refused_before_measuring(name, tmp_path, monkeypatch):
    monkeypatch.setattr(experiments, "load", None)  # would fail if it were called
    with pytest.raises(SystemExit) as stop:
        main([*RACE, "--json", str(tmp_path / name)])
    assert stop.value.code == 2


def test_ctrl_c_reports_what_was_measured_so_far(monkeypatch, capsys):
    broken_after(monkeypatch, 3, KeyboardInterrupt)
    assert main([*RACE, "--json"]) == 130
    naive, cached = from_json(capsys.readouterr().out)
    assert (len(naive.steps), len(cached.steps)) == (4, 3)


def test_memory_that_runs_out_in_the_middle_loses_nothing_and_the_next_run_works(
    monkeypatch, capsys
):
    with monkeypatch.context() as patch:
        broken_after(patch, 3, torch.OutOfMemoryError)
        assert main(RACE) == 2
    out, err = capsys.readouterr()
    assert "identical so far: 3 tokens" in out
    assert "ask for a shorter prompt" in err
    assert main(RACE) == 0


def test_a_mistake_of_ours_keeps_its_traceback(monkeypatch):
    broken_after(monkeypatch, 3, ValueError)
    with pytest.raises(ValueError, match="broken"):
        main(RACE)


def broken_after(monkeypatch, tokens: int, error: type[BaseException]) -> None:
    """Makes the cached arm raise `error` when it is asked for one more token than that."""

    def cached(*args):
        for made, forward in enumerate(generate.cached(*args)):
            if made == tokens:
                raise error("broken")
            yield forward

    monkeypatch.setitem(experiments.ARMS, "cached", cached)


def test_generate_streams_the_text_and_sums_it_up(capsys):
    command = ["generate", *RACE[1:], "--temperature", "2", "--top-k", "50", "--seed", "1"]
    assert main(command) == 0
    text, _, rest = capsys.readouterr().out.partition("\n\n")
    assert main([*command, "--json"]) == 0
    (trace,) = from_json(capsys.readouterr().out)
    assert text == trace.text()
    assert "cached made its first token" in rest
    assert main([*command[:-1], "2", "--json"]) == 0
    assert from_json(capsys.readouterr().out)[0].text() != text


class Bytes:
    """A tokenizer whose tokens are bytes, so that some are half a character; 0 ends the text."""

    eos_ids = (0,)

    def decode(self, ids) -> str:
        return bytes(ids).decode(errors="replace")


def run_of(*token_ids: int):
    """What `pieces` needs of a run that makes these tokens."""
    steps = iter([SimpleNamespace(token_ids=(token_id,)) for token_id in token_ids])
    return SimpleNamespace(warm_up=lambda: None, step=lambda: next(steps, None))


def test_a_character_is_streamed_when_it_is_whole_and_the_end_not_at_all():
    streamed = list(pieces(run_of(*"aé".encode(), ord("b"), 0, ord("c")), Bytes()))
    assert streamed == ["a", "é", "b", ""]


def test_half_a_character_at_the_very_end_is_not_lost():
    assert "".join(pieces(run_of(97, 0xC3), Bytes())) == "a\N{REPLACEMENT CHARACTER}"


def test_models_lists_what_can_be_loaded_with_its_size(capsys):
    assert main(["models", "--device", "cpu", "--dtype", "bfloat16"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line for line in lines if line}
    assert rows["toy"].endswith("fits")
    assert "16.1 GB" in rows["Llama-3.1-8B"]  # 8.03e9 parameters of 2 bytes
    assert rows["Llama-3.1-405B"].endswith("too large")


def test_progress_is_one_line_rewritten_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress = Progress()
    progress.show("naive: token 1 of 6")
    progress.show("too soon to be shown")
    progress.clear()
    assert capsys.readouterr().err == "\rnaive: token 1 of 6\x1b[K\r\x1b[K"


def test_the_command_line_needs_no_ui_library():
    code = (
        "import sys; from labkit.cli import main; code = main(sys.argv[1:]); "
        "sys.exit(code or ('plotly' in sys.modules) + ('ipywidgets' in sys.modules))"
    )
    command = [sys.executable, "-c", code, *RACE, "--json"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_help_answers_without_torch():
    code = "import sys, labkit.cli as cli; cli.parser(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_reader_that_leaves_early_is_no_error():
    command = [sys.executable, "-m", "labkit", "models"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0
