"""The user of a scenario who answers what is asked, and only that.

Whether a text asks for a slot is a matter of words here, for a conversation is played without a judge: one of
the slot's words stands in a sentence with a question mark, or anywhere in a text that has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from toolbench.domain.case import Replies
from toolbench.domain.contract import ToolSpec


class Answering:
    """Answers the questions of one stretch of a conversation, each slot once.

    Parameters
    ----------
    replies
        What there is to answer.
    tools
        Tools whose ``ask_words`` tell what a question is about.
    """

    def __init__(self, replies: Replies, tools: Iterable[ToolSpec], lang: str) -> None:
        self._left = dict(replies)
        self._words = {
            slot: [*reply.words, *_declared(slot, tools, lang), slot.replace("_", " ")]
            for slot, reply in replies.items()
        }

    def answer(self, text: str) -> str | None:
        """Return what the user says to a text, or ``None`` when it asks for nothing that is left."""
        asking = _asking(text)
        asked = [slot for slot in self._left if any(_names(asking, word) for word in self._words[slot])]
        return " ".join(self._left.pop(slot).text for slot in asked) or None


def _declared(slot: str, tools: Iterable[ToolSpec], lang: str) -> Sequence[str]:
    return [word for tool in tools for word in tool.ask_words.get(slot, {}).get(lang, ())]


def _asking(text: str) -> str:
    sentences = re.split(r"(?<=[.!?…])\s+|\n+", text)
    questions = [sentence for sentence in sentences if "?" in sentence]
    return _folded(" ".join(questions or sentences))


def _folded(text: str) -> str:
    return re.sub(r"\s+", " ", text.casefold().replace("ё", "е"))


def _names(text: str, word: str) -> bool:
    """Whether a word begins in a text; how it ends is left open, because languages inflect."""
    return re.search(rf"(?<!\w){re.escape(_folded(word))}", text) is not None
