"""A pasted text, cleaned of what terminals, chats and loggers add; its JSON and tables when asked.

Nothing here knows a tool. The usual log prefixes are cut, for a table or JSON can't be read behind
them; unusual ones stay, for most readers look for labels anywhere in a line. Each pattern is linear
in the text.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import islice

from .objects import objects
from .tables import Table, csv_table, tables

MOST_TABLES = 5_000
_colour = re.compile(r"(?:\x1b|\^\[|\\u001b|\\x1b|\\033|\u241b)\[[0-9;?]{0,32}[A-Za-z]")
_margin = re.compile(r"(?m)^[ \t>]{0,200}(?:[-*•][ \t]{1,8})?")
_log = re.compile(
    r"(?m)^(?:(?:"
    r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,60} [\w./-]{1,60}(?:\[\d{1,8}\])?:"  # syslog
    r"|\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"  # a date
    r"|(?:stdout|stderr) [FP]"  # Kubernetes, behind the date
    r"|\([A-Z]\w{2,30} pid=\d{1,8}\)"  # vLLM
    r"|(?:DEBUG|INFO|WARN|WARNING|ERROR):?|-"  # Python
    r"|\[\d{4,5}\]|\d{1,4}\.\d\d\.\d{3}\.\d{3} [DIWE]"  # llama.cpp
    r")[ \t]){1,6}"
)
_compose = re.compile(r"(?m)^[\w.-]{1,60}-\d{1,3} {1,20}\| ")  # Docker Compose
_unit = r"[ ]?(?:ms|s|sec|seconds|µs|us|t/s|tok|%|GB|GiB|ms/T)\b"
_decimals = re.compile(r"\d,(?:\d{1,2}|\d{4,12})(?=" + _unit + ")")
_with_dot = re.compile(r"(?<![\d.,])\d{1,12}(?:,\d{3}){0,4}\.\d{1,12}(?=" + _unit + ")")
_comma_number = re.compile(
    r"(?<![\d.,])(\d{1,12}(?:\.\d{3}){0,4}),(?!\d{3} ?tokens?\b(?!/))(\d{1,12})(?![\d.,])"
)
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
        """The tables drawn with pipes or box characters."""
        return list(islice(tables(self.text), MOST_TABLES))

    def csv(self, mark: str) -> list[Table]:
        """The CSV whose head holds these lower-case words; empty without one."""
        return csv_table(self.text, mark) if self.has(mark) else []


def clean(text: str) -> str:
    """The text without colours, quote marks, bullets, bold, log prefixes and decimal commas."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_replaced)
    if "[" in text:
        text = _colour.sub("", text)
    text = _margin.sub("", text.replace("**", ""))
    if len(_compose.findall(text)) == len(text.strip().split("\n")):  # else it may be a table
        text = _compose.sub("", text)
    text = _log.sub("", text)
    return "\n\n".join(decimal_dots(block) for block in text.split("\n\n"))


def decimal_dots(block: str) -> str:
    """The block with decimal commas turned into dots, if its numbers with units are of that kind.

    "8960,26 ms" is decimal where no number before a unit has a dot; "20,228,544 us" never is.
    """
    if "," not in block or _with_dot.search(block) or not _decimals.search(block):
        return block
    return _comma_number.sub(lambda m: m[1].replace(".", "") + "." + m[2], block)
