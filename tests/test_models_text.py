"""Tokens in and out, for models with a tokenizer and for those without."""

from __future__ import annotations

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from labkit.models.text import ByteText, HubText

WORDS = ["<eos>", "<user>", "<model>", "why", "sky"]
TEMPLATE = "{% for m in messages %}<user> {{ m.content }} {% endfor %}<model>"


def word_text(template: str | None = None) -> HubText:
    """A tokenizer of five words."""
    vocab = {word: i for i, word in enumerate(WORDS)}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<eos>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<eos>")
    tokenizer.chat_template = template
    return HubText(tokenizer, (0,))


def test_a_chat_model_sees_a_users_turn_only_when_asked_to():
    text = word_text(TEMPLATE)
    assert text.encode("why sky") == [3, 4]
    assert text.encode("why sky", chat=True) == [1, 3, 4, 2]


def test_without_a_template_chat_changes_nothing():
    assert word_text().encode("why sky", chat=True) == [3, 4]


def test_special_tokens_stay_visible():
    assert word_text().decode([3, 0]) == "why <eos>"


def test_random_weights_read_bytes_and_show_numbers():
    text = ByteText(vocab=100)
    assert text.encode("aé") == [97, 0xC3 % 100, 0xA9 % 100]
    assert text.encode("a", chat=True) == [97]
    assert text.decode([17, 3]) == "·17·3"
    assert text.eos_ids == ()
