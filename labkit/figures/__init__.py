"""Records to Plotly figures: pure functions, usable without a widget.

A live chart is drawn from `Curve`s: the figure is built once, and while a run goes on only the
curves' points are replaced. `style` holds what all figures share; then one module for each figure.
"""

from .race import race, race_curves, race_layout
from .style import Curve, color_of

__all__ = ["Curve", "color_of", "race", "race_curves", "race_layout"]
