"""The one table of tools: what their output contains, and who reads it.

To add a tool, write a module with MARKS and a `read`, and add its line here. MARKS are lower-case
strings; one of them must occur for the reader to be asked. A reader makes its reports one by one,
so that no more are made than are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..records.report import Report
from . import (
    desktop,
    engine_logs,
    genai_perf,
    guidellm,
    llama_bench,
    llama_cpp,
    llmperf,
    ollama,
    on_device,
    openvino,
    prometheus,
    serving,
    sweeps,
    tensorrt,
    tgi,
    traces,
    vllm_requests,
)
from .paste import Paste

Reader = Callable[[Paste], Iterable[Report]]

TOOLS: tuple[tuple[tuple[str, ...], Reader], ...] = (
    (traces.MARKS, traces.read),
    (llama_cpp.MARKS, llama_cpp.read),
    (ollama.MARKS, ollama.read),
    (("[gin]",), ollama.read_served),
    (("performance(t/s)",), ollama.read_ktransformers),
    (serving.MARKS, serving.read),
    (engine_logs.MARKS_VLLM, engine_logs.read_vllm),
    (engine_logs.MARKS_SGLANG, engine_logs.read_sglang),
    (prometheus.MARKS, prometheus.read),
    (vllm_requests.MARKS, vllm_requests.read),
    (tgi.MARKS, tgi.read),
    (tensorrt.MARKS, tensorrt.read),
    (genai_perf.MARKS, genai_perf.read),
    (guidellm.MARKS, guidellm.read),
    (llmperf.MARKS, llmperf.read),
    (desktop.MARKS_LM_STUDIO, desktop.read_lm_studio),
    (desktop.MARKS_MLX, desktop.read_mlx),
    (desktop.MARKS_EXLLAMA, desktop.read_exllama),
    (desktop.MARKS_WEBUI, desktop.read_webui),
    (desktop.MARKS_KOBOLD, desktop.read_kobold),
    (openvino.MARKS, openvino.read),
    (on_device.MARKS, on_device.read),
    (on_device.MARKS_EXECUTORCH, on_device.read_executorch),
    (llama_bench.MARKS, llama_bench.read),
    (sweeps.MARKS, sweeps.read),
)
