"""Telling a model's reasoning from its answer, where a server leaves both in one text."""

from __future__ import annotations

import re

MARKERS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<reason>", "</reason>"),
    ("<seed:think>", "</seed:think>"),
    ("<think_fast>", "</think_fast>"),
    ("[think]", "[/think]"),
    ("◁think▷", "◁/think▷"),
    ("<|start_thinking|>", "<|end_thinking|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
)
"""How models begin and end their reasoning, in lower case. Sources: the chat templates of DeepSeek, Qwen,
Kimi, GLM, Magistral, Seed-OSS, Command A and gpt-oss on their model cards (2026-11-30)."""

_CLOSING = dict(MARKERS)
_OPEN = re.compile(
    r"^[ \t]*(" + "|".join(re.escape(opening) for opening, _ in MARKERS) + ")", re.MULTILINE | re.IGNORECASE
)
# A template may write the opening marker into the prompt, so that only the closing one is in the reply.
_CLOSE = re.compile(
    "|".join(re.escape(closing) for _, closing in MARKERS if closing != "<|end|>"), re.IGNORECASE
)
_FINAL = re.compile(r"\A\s*(<\|start\|>assistant)?<\|channel\|>final<\|message\|>", re.IGNORECASE)


def without_reasoning(text: str) -> tuple[str, bool]:
    """Return ``(answer, found)``: the text without reasoning, and whether there was any.

    A block that never ends is reasoning to the end of the text, and so is everything before an end that has
    no beginning.
    """
    answer, found = text, False
    while True:
        opening, closing = _OPEN.search(answer), _CLOSE.search(answer)
        if opening and (closing is None or opening.start() < closing.start()):
            end = re.compile(re.escape(_CLOSING[opening.group(1).lower()]), re.IGNORECASE).search(
                answer, opening.end()
            )
            answer = answer[: opening.start()] + (answer[end.end() :].lstrip() if end else "")
        elif closing:
            answer = answer[closing.end() :].lstrip()
        else:
            return _FINAL.sub("", answer) if found else text, found
        found = True
