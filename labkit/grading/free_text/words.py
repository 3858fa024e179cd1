"""From what was typed to words, each of which knows where it stands in the learner's own text.

Markup, scripts and comments are blanked, not parsed: what a page would not show is not read. Words
are folded (case, accents, stretched letters, contractions) so that one spelling stands for many.
Meaning is unknown here.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from html import unescape
from typing import NamedTuple

HIDDEN = re.compile(r"<(script|style|template)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.I | re.S)
BREAK = re.compile(r"</?(?:p|br|li|ul|ol|div|tr|td|th|h[1-6]|table)\b[^<>]*>", re.I)
TAG = re.compile(r"</?[a-z][^<>]*>|<![^<>]*>", re.I)
ENTITY = re.compile(r"&(?:#\d{1,6}|#x[0-9a-f]{1,5}|[a-z]{2,8});", re.I)
WRAP = re.compile(r"(?<=[^\n]{60})\n(?=[a-z])")  # the line was only full
ABBREVIATION = re.compile(r"\b(?:i\.e|e\.g|vs|approx|etc|resp|z\.b|d\.h|p\.ex|ca)\.(?=\s)", re.I)
INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff\u00ad\ufe0f\ufe0e]")

# Chinese is written without spaces: each character is a word, and phrases are runs of them.
PIECE = re.compile(
    r"(?P<item>(?:(?<=\s)|^)\(?(?:\d{1,2}|[a-e])[.)](?=\s))"  # "1) decode 2) bandwidth"
    r"|(?P<number>\d+(?:[.,]\d+)*)"
    r"|(?P<rate>(?:[tgm]i?b|tok(?:en)?s?)/s(?:ec)?\b|[tg]bps\b)"
    r"|(?P<han>[\u3400-\u9fff])"
    r"|(?P<word>(?:re-|pre-)?[^\W\d_\u3400-\u9fff]+(?:['’ʼ´`][^\W\d_]+)?(?:\d+[a-z]*)*(?:\+\+)?)"
    r"|(?P<stop>\.\.\.+|[.!?…。！？]+(?=\s|$|[\"'”’)\]*_]|[^\x00-\x7f])|\n\s*|[;；•·▪|])"
    r"|(?P<arrow>-+>|=+>|[→⇒➜➡⟶]|[=≈])"
    r"|(?P<comma>[,，、()（）\[\]{}—–\"“”«»]|\s[-/+&]+\s)"
    r"|(?P<colon>[:：])"
    r"|(?P<sign>[⚡🐌👍👌✅❌🚫✓✔✗✘🔥])",
    re.I,
)
SIGNS = {"⚡": "fast", "👍": "fine", "👌": "fine", "✅": "fine", "✓": "fine", "✔": "fine"}
SIGNS |= {"🐌": "slow", "❌": "slow", "✗": "slow", "✘": "slow", "🚫": "slow", "🔥": "slow"}

SHORT = {
    "won": "will", "can": "can", "shan": "shall", "ain": "is",
}  # what stands before n't  # fmt: skip
ENDINGS = {"s": "is", "re": "are", "d": "would", "m": "am", "ll": "will", "ve": "have", "t": "not"}
BARE = {"dont": "do not", "doesnt": "does not", "didnt": "did not", "isnt": "is not"}
BARE |= {"arent": "are not", "wasnt": "was not", "wont": "will not", "cant": "can not"}
BARE |= {"wouldnt": "would not", "couldnt": "could not", "shouldnt": "should not"}
BARE |= {"cannot": "can not", "its": "it is", "thats": "that is", "whats": "what is"}
BARE |= {"aint": "is not", "hasnt": "has not", "theres": "there is", "ive": "i have"}
BARE |= {"havent": "have not", "werent": "were not", "theyre": "they are", "youre": "you are"}
BARE |= {"w": "with", "bc": "because", "cuz": "because", "coz": "because"}
NUMBERS = {"two": "2", "three": "3", "four": "4", "eight": "8", "sixteen": "16"}
BARE |= NUMBERS | {"vier": "4", "acht": "8", "quatre": "4", "huit": "8", "cuatro": "4"}
BARE |= {"ocho": "8", "quatro": "4", "oito": "8"}


MARKS = frozenset([".", "?", ",", ":", "(", "->"])  # the first two end a sentence


class Word(NamedTuple):
    """A folded word, or one of the `MARKS`."""

    text: str
    start: int
    end: int

    @property
    def is_mark(self) -> bool:
        return self.text in MARKS


def visible(text: str) -> str:
    """The text as a page would show it, as long as the original: what goes is blanked.

    >>> visible("<b>x</b><script>y</script>")
    '   x                      '
    """
    text = HIDDEN.sub(lambda found: " " * len(found[0]), text)
    text = BREAK.sub(lambda found: "\n" + " " * (len(found[0]) - 1), text)
    text = TAG.sub(lambda found: " " * len(found[0]), text)
    text = ENTITY.sub(lambda found: unescape(found[0])[:1].ljust(len(found[0])), text)
    text = ABBREVIATION.sub(lambda found: found[0].replace(".", " "), WRAP.sub(" ", text))
    return INVISIBLE.sub(" ", text)


def words(text: str) -> list[Word]:
    """All words and marks of a visible text, in order. Takes linear time."""
    found: list[Word] = []
    for piece in PIECE.finditer(text):
        start, end = piece.span()
        found += [Word(part, start, end) for part in _fold(piece[0], piece.lastgroup)]
    return found


@lru_cache(maxsize=4096)
def _fold(piece: str, kind: str) -> tuple[str, ...]:
    if kind == "item":
        return (".",)
    if kind == "stop":
        return ("?",) if "?" in piece or "？" in piece else (".",)
    if kind == "arrow":
        return ("->",)
    if kind == "comma":
        return ("(",) if piece in "(（[" else (",",)
    if kind == "colon":
        return (":",)
    if kind == "sign":
        return (SIGNS[piece], ",")
    if kind in ("number", "han"):
        return (piece,)
    if kind == "rate":
        return ("tokps",) if piece[:3].lower() == "tok" else ("gbps",)
    return ("est",) if piece in "éÉ" else _fold_word(fold(piece))  # Portuguese "is", not "and"


def _fold_word(word: str) -> tuple[str, ...]:
    head, quote, tail = word.partition("'")
    if not quote:
        return tuple(BARE.get(word, word).split())
    if tail == "t" and head.endswith("n"):
        return (SHORT.get(head, SHORT.get(head[:-1], head[:-1])), "not")
    if tail == "s" and head not in ("it", "that", "what", "there", "here", "he", "she", "who"):
        return (head,)  # a genitive: "the model's weights"
    return (head, ENDINGS.get(tail, tail))


def fold(word: str) -> str:
    """Lower case, no accents, one apostrophe, no letter three times in a row.

    >>> fold("Génération"), fold("SLOOOW")
    ('generation', 'slow')
    """
    if not word.isascii():
        parts = unicodedata.normalize("NFKD", word)
        word = "".join(part for part in parts if not unicodedata.combining(part))
    word = re.sub("[’ʼ´`]", "'", word.lower()).replace("ß", "ss")
    word = word.replace("-", "")
    return re.sub(r"([a-z])\1{2,}", r"\1", word)
