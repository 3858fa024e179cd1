from __future__ import annotations

from dataclasses import dataclass

from .claims import claims
from .clauses import clauses
from .mentions import mentions
from .scene import scenes
from .tricks import is_list, orders
from .verdict import limiters, names, phases, standing, verdict
from .vocabulary import vocabulary
from .words import visible, words


@dataclass(frozen=True)
class Truth:
    phase: str
    limiter: str
    remedies: tuple[str, ...]


def analyse(text):
    ws = words(visible(text[:12000]))
    content, cues = mentions(ws, vocabulary())
    parts = clauses(ws)
    sc = scenes(ws, parts, content, cues)
    skip=orders(sc)
    found = [] if is_list(sc) else standing(claims([x for x in sc if x.clause.sentence not in skip]), sc)
    return ws, sc, found


def grade(text, truth):
    ws, sc, found = analyse(text)
    ph = phases(found)
    return verdict(ph, found, truth), tuple(p.name for p in ph), limiters(found, ph), names(found, "remedy")
