"""Text to token ids and back, the same three names for every model.

`HubText` wraps the tokenizer that came with the weights. `ByteText` stands in for it where the
weights are random and no text means anything: one token a byte going in, a number coming out, so
that every panel works with every model. Neither knows the model's weights or its device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Text(Protocol):
    """What a panel needs of a tokenizer. `eos_ids` end a text; empty where nothing does."""

    eos_ids: tuple[int, ...]

    def encode(self, text: str, chat: bool = False) -> list[int]: ...

    def decode(self, ids: Sequence[int]) -> str: ...


class HubText:
    """A transformers tokenizer. Special tokens stay visible: they cost a step like any other."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, eos_ids: tuple[int, ...]) -> None:
        self.tokenizer, self.eos_ids = tokenizer, eos_ids

    def encode(self, text: str, chat: bool = False) -> list[int]:
        """Token ids of `text`; `chat` makes it a user's turn, where the model has a template."""
        if not (chat and self.tokenizer.chat_template):
            return self.tokenizer.encode(text)
        turn = [{"role": "user", "content": text}]
        return self.tokenizer.apply_chat_template(
            turn, add_generation_prompt=True, return_dict=True
        )["input_ids"]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; half a character shows as a replacement character."""
        return self.tokenizer.decode(list(ids), clean_up_tokenization_spaces=False)


class ByteText:
    """For random weights: a token a UTF-8 byte, and each token id spelt out, as "·17"."""

    eos_ids: tuple[int, ...] = ()

    def __init__(self, vocab: int) -> None:
        self.vocab = vocab

    def encode(self, text: str, chat: bool = False) -> list[int]:
        """One id a byte, folded into the vocabulary; `chat` changes nothing here."""
        return [byte % self.vocab for byte in text.encode()]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(f"·{i}" for i in ids)
