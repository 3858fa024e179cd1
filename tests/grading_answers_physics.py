"""Right and likely wrong answers to the exercises of lessons 04 and 05, and the run they judge."""

from __future__ import annotations

from labkit import catalog, roofline
from labkit.records.machine import Machine, Roofs
from labkit.records.passes import Pass, Passes, Timing

SHAPE = catalog.model("SmolLM2-135M")
ROOFS = Roofs("cpu", {"float32": 5e10, "bfloat16": 5e10}, read_bytes_per_s=2e10)


def timing(curve: str, new: int, context: int, batch: int, ms: float) -> Timing:
    return Timing(curve, Pass(new, context, batch), (round(ms * 1e6),) * 3)


# Prefills: flat at 50 ms, then 2.5 ms a token, so the parts meet at 20. Steps: flat to 10 tokens.
TIMINGS = (
    timing("prefill", 1, 1, 1, 50),
    timing("prefill", 16, 16, 1, 55),
    timing("prefill", 256, 256, 1, 640),
    timing("together", 1, 16, 1, 50),
    timing("together", 8, 16, 8, 52),
    timing("together", 1, 16, 32, 160),
    timing("context", 1, 64, 1, 50),
)
PASSES = Passes("made up", SHAPE, Machine("made up", "cpu", 1), TIMINGS, ROOFS)
LONG = PASSES.curve("prefill")[-1]
MFU = roofline.cost_of(SHAPE, LONG.what).flops / 0.640 / 5e10
STEP = PASSES.curve("context")[0]
MBU = roofline.cost_of(SHAPE, STEP.what).bytes / 0.050 / 2e10

RIGHT = [
    ("prefill_flops", lambda p, n: 2 * p * n),
    ("flops_per_byte", lambda n, b: 2 * n / b),
    ("knee", lambda f, w, b: f * b / (2 * w)),
    ("predicted_knee", 20),
    ("predicted_knee", 500),
    ("mfu", MFU),
    ("short_prompt", "memory"),
    ("longer_ttft", 2.1),
    ("upgrade", "flops"),
    ("step_bytes", lambda w, kv, c, b: w + kv * c * b),
    ("most_tokens_per_s", lambda n, w: w / n),
    ("mbu", MBU),
    ("twice_the_tokens", 1.1),
    ("flat_until", 10),
    ("kv_equals_weights", lambda w, kv, b: w / kv / b),
    ("limiter", "host"),
    ("which_run", "memory"),
]

WRONG = [
    ("prefill_flops", lambda p, n: p * n, "two operations"),
    ("prefill_flops", lambda p, n: 2 * p, "one token"),
    ("prefill_flops", lambda p, n: 6 * p * n, "training"),
    ("flops_per_byte", lambda n, b: n / b, "two operations"),
    ("flops_per_byte", lambda n, b: 2 / b, "every token of the prompt"),
    ("knee", lambda f, w, b: f / w, "FLOPs for each byte"),
    ("knee", lambda f, w, b: f / w * b, "two operations"),
    ("knee", lambda f, w, b: w / f * b / 2, "Upside down"),
    ("predicted_knee", "soon", "one number"),
    ("predicted_knee", -3, "one number"),
    ("mfu", 100 * MFU, "percent"),
    ("mfu", 1 / MFU, "upside down"),
    ("mfu", MFU * 5e10, "Divide by the roof"),
    ("short_prompt", "compute", "0.13 ms"),
    ("short_prompt", "cache", "prompt is what fills it"),
    ("longer_ttft", 1, "below the knee"),
    ("longer_ttft", 4, "attention's part"),
    ("upgrade", "bandwidth", "4,000 times"),
    ("upgrade", "neither", "far above the knee"),
    ("step_bytes", lambda w, kv, c, b: w, "keys and values"),
    ("step_bytes", lambda w, kv, c, b: w + kv * c, "cache of its own"),
    ("step_bytes", lambda w, kv, c, b: b * (w + kv * c), "whole batch"),
    ("most_tokens_per_s", lambda n, w: n / w, "Turn it round"),
    ("most_tokens_per_s", lambda n, w: w / n / 8, "bits"),
    ("mbu", 100 * MBU, "percent"),
    ("mbu", 1 / MBU, "upside down"),
    ("mbu", MBU * 2e10, "Divide by the roof"),
    ("twice_the_tokens", 2, "arithmetic were the limit"),
    ("twice_the_tokens", 0.5, "for each token"),
    ("flat_until", 0, "one number"),
    ("flat_until", [1, 2], "one number"),
    ("kv_equals_weights", lambda w, kv, b: w / kv, "its own cache"),
    ("kv_equals_weights", lambda w, kv, b: w * b / kv, "caches are not"),
    ("limiter", "memory", "half the time"),
    ("limiter", "compute", "twice the time"),
    ("which_run", "compute", "1 ms more"),
    ("which_run", "host", "time halved"),
]

OTHERS = {
    "predicted_knee": [PASSES],
    "mfu": [PASSES, ROOFS],
    "mbu": [PASSES, ROOFS],
    "flat_until": [PASSES],
}
