"""Token ids to the text that each of them adds, so that the pieces joined are the whole text.

A token alone may be half a character, or lose the space before it; decoded after the tokens before
it, it shows what it really adds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

HALF_A_CHARACTER = "\N{REPLACEMENT CHARACTER}"


class Detokenizer:
    """One sequence's text, token by token. `decode` turns ids into text, all at once."""

    def __init__(self, decode: Callable[[Sequence[int]], str]):
        self._decode = decode
        self._ids: list[int] = []
        self._before, self._shown = 0, 0  # the last piece's ids are _before:_shown

    def add(self, token_id: int) -> str:
        """What this token adds; "" while a character is incomplete, which then comes later."""
        self._ids.append(token_id)
        before = self._decode(self._ids[self._before : self._shown])
        text = self._decode(self._ids[self._before :])
        if text.endswith(HALF_A_CHARACTER):
            return ""
        self._before, self._shown = self._shown, len(self._ids)
        return text[len(before) :]
