"""The text twins of lesson 08's panels: the ladder and the guesses, as sentences and tables.

Pure functions from records to HTML.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .. import summary
from ..figures.speculative import GuessBar
from ..records.ladder import Ladder, Rung
from ..records.speculation import Guessed
from ..summary import Table

HEADER = ("rung", "a token", "predicted", "off by", "bytes a token", "tokens/s", "roof")
HEADER += ("of it", "output")


def ladder_told(climbed: Ladder) -> str:
    """The whole climb as HTML; empty before the first rung."""
    if not climbed.rungs:
        return ""
    rows = tuple(_row(climbed, rung) for rung in climbed.measured)
    html = [f"<p>{escape(ladder_sentence(climbed))}</p>", Table(HEADER, rows).html()]
    skipped = [rung for rung in climbed.rungs if rung.skipped]
    html += [
        f"<p>{escape(rung.name)}: skipped, since {escape(rung.skipped)}</p>" for rung in skipped
    ]
    return "".join([*html, "<ul>", *map(_described, climbed.rungs), "</ul>"])


def _described(rung: Rung) -> str:
    note = f" {rung.note}." if rung.note else ""
    text = f"{rung.changed}. Costs: {rung.costs}.{note}"
    return f"<li><b>{escape(rung.name)}</b>: {escape(text)}</li>"


def ladder_sentence(climbed: Ladder) -> str:
    """From the bottom to the highest rung, and how near that came to its roof."""
    if len(climbed.measured) < 2:
        return "One rung so far."
    bottom = climbed.measured[0]
    best = max(climbed.measured, key=lambda rung: rung.tokens_per_s)
    share = best.share_of_roof(climbed.roofs)
    of_roof = "its roof is unknown" if share is None else f"{share:.0%} of what its bytes allow"
    times = summary.digits(best.tokens_per_s / bottom.tokens_per_s)
    return (
        f"“{best.name}” is the fastest: {summary.rate(best.tokens_per_s)}, {times} times as fast "
        f"as “{bottom.name}”, and {of_roof}."
    )


def _row(climbed: Ladder, rung: Rung) -> tuple[str, ...]:
    share = rung.share_of_roof(climbed.roofs)
    off, roof = rung.off_by, rung.roof_tokens_per_s(climbed.roofs)
    return (
        rung.name,
        summary.ms(rung.token_s),
        summary.ms(rung.predicted_s),
        "unknown" if off is None else f"{off:+.0%}",
        summary.gb(rung.token_bytes),
        summary.digits(rung.tokens_per_s),
        "unknown" if roof is None else summary.digits(roof),
        "unknown" if share is None else f"{share:.0%}",
        output(climbed, rung),
    )


def output(climbed: Ladder, rung: Rung) -> str:
    """Whether the tokens are those of the first rung, in a word or two."""
    same = climbed.output(rung)
    if same is None or same.compared == 0:
        return "unknown"
    if same.identical:
        return "the same"
    tie = " (a tie)" if same.tie else ""
    return f"another from token {same.first_difference + 1:,} on{tie}"


# ---- guesses -------------------------------------------------------------------------------------

GUESS_HEADER = ("text", "guesses", "right of those judged", "tokens a pass")
GUESS_HEADER += ("predicted", "measured", "output")


def guesses_told(found: Sequence[Guessed], bars: Sequence[GuessBar]) -> str:
    """What the guesses brought, as HTML; empty before the first result."""
    if not found:
        return ""
    last = {(one.task, one.at_most): one for one in found}
    rows = tuple(_guess_row(last[bar.task, bar.at_most], bar) for bar in bars)
    return f"<p>{escape(guess_sentence(bars))}</p>{Table(GUESS_HEADER, rows).html()}"


def guess_sentence(bars: Sequence[GuessBar]) -> str:
    """The best and the worst of what was tried."""
    best, worst = (f(bars, key=lambda bar: bar.measured) for f in (max, min))
    if best is worst:
        return f"Up to {best.at_most} guesses: {summary.digits(best.measured)} times as fast."
    return (
        f"Best: {summary.digits(best.measured)} times as fast with up to {best.at_most} guesses on "
        f"“{best.task}”. Worst: {summary.digits(worst.measured)} times with up to {worst.at_most} "
        f"on “{worst.task}”. Below 1 guessing loses."
    )


def _guess_row(one: Guessed, bar: GuessBar) -> tuple[str, ...]:
    counts = one.counts
    right = "none judged" if counts.acceptance is None else f"{counts.acceptance:.0%}"
    predicted = "unknown" if bar.predicted is None else f"{summary.digits(bar.predicted)} times"
    same = "the same" if one.same.identical else str(one.same)
    return (
        one.task,
        f"up to {one.at_most}",
        right,
        summary.digits(counts.tokens_per_pass or 1),
        predicted,
        f"{summary.digits(bar.measured)} times",
        same,
    )
