"""A pasted text, cleaned of what terminals, chats and loggers add; its JSON and tables when asked.

Nothing here knows a tool. Log prefixes stay where they are: readers look for labels anywhere in a
line, so what stands before a label can't change its number. Each pattern is linear in the text.
"""

from __future__ import annotations

import re
from functools import cached_property

from .objects import objects
from .tables import Table, tables

_colour = re.compile(r"(?:\x1b|\^\[|\\u001b|\\x1b|\\033|\u241b)\[[0-9;?]{0,32}[A-Za-z]")
_margin = re.compile(r"(?m)^[ \t>]{0,200}(?:[-*•][ \t]{1,8})?")
_unit = r"[ ]?(?:ms|s|sec|seconds|µs|us|t/s|tok|%|GB|GiB|ms/T)\b"
_with_comma = re.compile(r"(?<![\d.,])\d{1,12}(?:\.\d{3}){0,4},\d{1,3}(?![\d.,])(?=" + _unit + ")")
_two_decimals = re.compile(r",\d{2}(?!\d)")
_with_dot = re.compile(r"(?<![\d.,])\d{1,12}(?:,\d{3}){0,4}\.\d{1,12}(?=" + _unit + ")")
_comma_number = re.compile(r"(?<![\d.,])(\d{1,12}(?:\.\d{3}){0,4}),(\d{1,12})(?![\d.,])")
_replaced = str.maketrans(
    {
        "\xa0": " ",
        "\u202f": " ",
        "\u2009": " ",
        "\u200b": None,
        "\ufeff": None,
        "μ": "µ",
        "−": "-",
        "–": "-",
        "：": ":",
        "，": ",",
        "（": "(",
        "）": ")",
        "“": '"',
        "”": '"',
        "`": None,
    }
    | dict.fromkeys("│┃║", "|")
    | dict.fromkeys("─━═┄┅┈┉╌╍", "-")
    | dict.fromkeys("┏┓┗┛┳┻╋┡┩╇╈┌┐└┘├┤┬┴┼╭╮╯╰╒╕╘╛╞╡╤╧╪╔╗╚╝╠╣╦╩╬┣┫╂┢┪", "+")
)


class Paste:
    """`raw` is what was pasted, `text` the cleaned text, `lower` that in lower case."""

    def __init__(self, text: str) -> None:
        self.raw = text
        self.text = clean(text)
        self.lower = self.text.lower()

    def has(self, *marks: str) -> bool:
        """Whether one of these lower-case strings occurs."""
        return any(mark in self.lower for mark in marks)

    @cached_property
    def objects(self) -> list[dict]:
        """Every JSON object of the text, nested ones too, and what is left of broken ones."""
        return objects(self.text)

    @cached_property
    def tables(self) -> list[Table]:
        """Every table drawn with pipes or box characters."""
        return tables(self.text)


def clean(text: str) -> str:
    """The text without colours, quote marks, bullets, bold and decimal commas."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_replaced)
    if "[" in text:
        text = _colour.sub("", text)
    text = _margin.sub("", text.replace("**", ""))
    return "\n\n".join(decimal_dots(block) for block in text.split("\n\n"))


def decimal_dots(block: str) -> str:
    """The block with decimal commas turned into dots, if its numbers with units are of that kind.

    "8960,26 ms" is decimal where no number before a unit has a dot; "20,228,544 us" never is.
    """
    if "," not in block or _with_dot.search(block):
        return block
    found = _with_comma.search(block)
    if not found or not _two_decimals.search(block):
        return block
    return _comma_number.sub(lambda m: m[1].replace(".", "") + "." + m[2], block)
