"""Who may import what: a layer imports the standard library, itself, and what stands in its row.

Rows go from the bottom up, so a layer stands below all that import it and there are no cycles.
A name with a dot is ours. A new layer, or a new import, has to be allowed here first.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "labkit"
ALLOWED = {
    "__init__": "",
    "records": "",
    "roofline": ".records",
    "catalog": ".records",
    "summary": ".records",
    "reports": ".records",
    "scenarios": ".records .catalog .roofline",
    "diagnose": ".records .catalog .roofline .summary",
    "grading": ".records .catalog .roofline .scenarios .diagnose",
    "progress": ".records platformdirs filelock",
    "results": ".records .progress",
    "generate": "torch transformers",
    "pages": "torch",
    "measure": ".records .pages torch psutil",
    "models": ".records .catalog .pages torch transformers safetensors huggingface_hub"
    " platformdirs filelock psutil tqdm",
    "endpoints": ".records httpx",
    "probing": ".records .generate .measure .models torch transformers",
    "experiments": ".records .catalog .generate .measure .models .probing torch",
    "batching": ".records .generate .measure .models .experiments torch transformers",
    "sweeps_passes": ".records .generate .measure .models .experiments torch transformers",
    "sweeps": ".records .roofline .generate .measure .models torch",
    "caches": ".records .roofline .generate .measure .models .sweeps torch transformers",
    "speculative": ".generate torch transformers",
    "compiled": ".generate torch transformers",
    "quantised": ".models torch transformers",
    "lean": ".generate .compiled .quantised torch transformers",
    "perplexity": "torch",
    "guesses": ".records .generate .measure .models .experiments .speculative torch",
    "rungs": ".records .roofline .generate .models .compiled .lean .quantised .speculative torch",
    "ladder": ".records .roofline .generate .measure .models .experiments .guesses .rungs",
    "attention": ".records .roofline .summary .measure .models .sweeps torch flash_attn",
    "gpu_check": ".records .roofline .measure .models .probing .experiments .sweeps_passes"
    " .ladder torch",
    "figures": ".records plotly numpy",
    "ui": ".records .catalog .roofline .summary .reports .scenarios .diagnose .grading .generate"
    " .progress .results .guesses .rungs .ladder .figures"
    " .measure .models .endpoints .probing .experiments .batching .sweeps_passes .sweeps .caches"
    " torch numpy plotly anywidget ipywidgets traitlets IPython",
    "bench": ".records .catalog .roofline .summary .generate .measure .models .probing .experiments"
    " .batching .sweeps_passes .speculative .guesses .rungs .ladder .attention .compiled .lean"
    " .quantised .perplexity .ui torch gguf llama_cpp"
    " transformers psutil jupyter_client nbformat playwright",
    "cli": ".records .catalog .roofline .summary .reports .diagnose .generate .measure .models"
    " .probing .experiments .gpu_check .bench torch",
    "__main__": ".cli",
}


def layer(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(file: Path) -> set[str]:
    """What a file imports anywhere in it: ours as ".layer", the rest by its top package."""
    folder = ("labkit", *file.relative_to(PACKAGE).parent.parts)
    names = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = folder[: len(folder) + 1 - node.level] if node.level else ()
            module = [*start, *filter(None, (node.module or "").split("."))]
            names += [[*module, alias.name] for alias in node.names]
    return {"." + name[1] if name[0] == "labkit" else name[0] for name in names}


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_a_file_imports_only_what_its_layer_may(file):
    free = {*sys.stdlib_module_names, "." + layer(file)}
    assert imports(file) - free <= set(ALLOWED[layer(file)].split())


def test_each_layer_stands_above_all_that_it_imports():
    rows = list(ALLOWED)
    for row, allowed in ALLOWED.items():
        ours = [name[1:] for name in allowed.split() if name.startswith(".")]
        assert all(rows.index(below) < rows.index(row) for below in ours), row


# ---- what is really loaded ----------------------------------------------------------------------


def loaded_by(code: str) -> set[str]:
    """The top packages that a fresh Python has loaded after `code`."""
    code += "\nimport sys\nprint()\nprint(*{name.split('.')[0] for name in sys.modules})"
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, check=True)
    return set(run.stdout.splitlines()[-1].split())


UI_LIBRARIES = {"plotly", "ipywidgets", "anywidget", "IPython"}


def test_the_theory_needs_the_standard_library_only():
    loaded = loaded_by("import labkit.records, labkit.roofline, labkit.catalog, labkit.summary")
    assert not loaded & {"torch", "transformers", "numpy", *UI_LIBRARIES}


def test_help_on_the_command_line_waits_for_no_heavy_library():
    loaded = loaded_by(
        "import runpy, sys\n"
        "sys.argv[1:] = ['--help']\n"
        "try:\n    runpy.run_module('labkit', run_name='__main__')\n"
        "except SystemExit as end:\n    assert not end.code\n"
    )
    assert "labkit" in loaded
    assert not loaded & {"torch", "transformers", *UI_LIBRARIES}


def test_the_core_loads_no_library_of_the_user_interface():
    """Also `bench`, which may ask for the panels while it runs, but not before."""
    core = [f for f in FILES if layer(f) not in ("ui", "figures", "__main__")]
    dotted = [".".join(f.relative_to(PACKAGE.parent).with_suffix("").parts) for f in core]
    loaded = loaded_by("\n".join(f"import {name.removesuffix('.__init__')}" for name in dotted))
    assert "torch" in loaded
    assert not loaded & UI_LIBRARIES
