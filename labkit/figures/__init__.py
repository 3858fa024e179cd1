"""Records to Plotly figures: pure functions, usable without a widget.

A live chart is drawn from `Curve`s: the figure is built once, and while a run goes on only the
curves' points are replaced. `style` holds what all figures share; then one module for each figure.
"""

from .batching import serving_place, slots, slots_curves, slots_layout
from .batching_load import batch_sizes, batch_sizes_curves, load, load_curves
from .decode import decode, decode_curves
from .diagnosis import shares, shares_curves, shares_layout
from .ladder import ladder, ladder_curves, ladder_layout
from .memory import (
    cache_growth,
    cache_growth_curves,
    cache_growth_said,
    cache_proof,
    kv_calculator,
    memory_plan,
    memory_plan_curves,
)
from .prefill import prefill, prefill_curves, prefill_layout
from .quadratic import (
    attention_matrix,
    attention_matrix_curves,
    attention_sweep,
    attention_sweep_curves,
    naive_split,
    naive_split_curves,
    token_cost,
    token_cost_curves,
)
from .race import race, race_curves, race_layout, said_curves
from .speculative import guessing, guessing_curves, guessing_layout
from .style import Curve, color_of
from .sweeps import where
from .whatif import what_if, what_if_curves

__all__ = ["Curve", "color_of", "race", "race_curves", "race_layout"]
__all__ += ["said_curves"]
__all__ += ["decode", "decode_curves", "prefill", "prefill_curves", "prefill_layout"]
__all__ += ["what_if", "what_if_curves"]
__all__ += ["attention_matrix", "attention_sweep", "attention_sweep_curves", "naive_split"]
__all__ += ["attention_matrix_curves", "naive_split_curves", "token_cost", "token_cost_curves"]
__all__ += ["where"]
__all__ += ["cache_growth", "cache_growth_curves", "cache_proof", "kv_calculator", "memory_plan"]
__all__ += ["cache_growth_said", "memory_plan_curves"]
__all__ += ["shares", "shares_curves", "shares_layout"]
__all__ += ["batch_sizes", "batch_sizes_curves", "load", "load_curves", "serving_place", "slots"]
__all__ += ["slots_curves", "slots_layout"]
__all__ += ["guessing", "guessing_curves", "guessing_layout"]
__all__ += ["ladder", "ladder_curves", "ladder_layout"]
