"""JSON in a paste, also where people cut, annotated or broke it.

A balanced pair of braces is read as JSON, once. What isn't JSON is searched for `"key": value`
pairs; a key that comes again starts a new record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from .units import NUMBER

MAX_DEPTH = 40  # deeper nesting is nobody's metrics, and Python's own reader gives up at 1,000
MOST_BRACES = 100_000  # what comes after so many is searched for pairs only
SHORTEST = 6  # characters of `"a":1`, less than which holds nothing

# A quoted string ends at its line's end at the latest, so that one lost quote costs one line.
_brace = re.compile(r'"(?:[^"\\\n]++|\\.)*+"?|[{}]')
_pair = re.compile(
    r"(?<![\w.])[\"']?([A-Za-z_]\w{0,60})[\"']?[ \t]{0,8}[:=][ \t]{0,8}"
    rf"(?:[\"']([^\"'\n]{{0,120}})[\"']|({NUMBER})(?![\w.]))"
)


def objects(text: str) -> list[dict]:
    """All objects in order of appearance, an outer one before those inside it."""
    found: list[dict] = []
    after = 0
    for start, end, depth in _regions(text):
        found += lenient(text[after:start])
        after = end
        value = _read(text[start:end]) if depth <= MAX_DEPTH else None
        found += lenient(text[start:end]) if value is None else _nested(value)
    return found + lenient(text[after:])


def _regions(text: str) -> Iterator[tuple[int, int, int]]:
    """Start, end and greatest depth of each outermost pair of braces; the last may lack its end."""
    depth = deepest = start = 0
    for count, token in enumerate(_brace.finditer(text)):
        if token[0] == "{":
            start = token.start() if depth == 0 else start
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] == "}" and depth:
            depth -= 1
            if depth == 0 and token.end() - start > SHORTEST:
                yield start, token.end(), deepest
            deepest = deepest if depth else 0
        if count > MOST_BRACES and depth == 0:
            return
    if depth:
        yield start, len(text), deepest


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _nested(value: object) -> list[dict]:
    """The object and all objects inside it. Lists of plain numbers are left as they are."""
    found, waiting = [], [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            found.append(value)
            waiting += reversed(list(value.values()))
        elif isinstance(value, list) and value and isinstance(value[0], dict | list):
            waiting += reversed(value)
    return found


def lenient(text: str) -> list[dict]:
    """Records of the `key: value` pairs in a text that is not quite JSON."""
    if len(text) < SHORTEST:
        return []
    pairs = ((m[1], m[2] if m[3] is None else m[3].rstrip(",")) for m in _pair.finditer(text))
    return group(pairs)


def group(pairs: Iterable[tuple[str, object]]) -> list[dict]:
    """One record for each run of different keys: a key that comes again starts the next.

    The same value again, directly after, is the same line twice; an equal record is a copy.

    >>> group([("a", 1), ("b", 2), ("a", 3)])
    [{'a': 1, 'b': 2}, {'a': 3}]
    """
    records: list[dict] = []
    last = None
    for key, value in pairs:
        if (key, value) == last:
            continue
        if not records or key in records[-1]:
            records.append({})
        records[-1][key] = value
        last = (key, value)
    return [record for i, record in enumerate(records) if i == 0 or record != records[i - 1]]
