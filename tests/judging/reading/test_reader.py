"""What holds for every language: bounds, language, markup by shape."""

from __future__ import annotations

import time

import pytest

from toolbench.judging.reading.language import language
from toolbench.judging.reading.markup import markup
from toolbench.judging.reading.reader import read


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "It is. " * 100_000,
        "0" * 1_000_000,
        "1 " * 200_000,
        "\u0301" * 500_000,
        "\ud800" * 100_000,
        '{"a":' * 100_000,
        "<" * 300_000,
        "не, not, " * 50_000,
        "-" * 300_000,
        "12-" * 100_000,
        '"' * 100_000,
        "|" * 200_000,
        "\n" * 300_000,
    ],
    ids=lambda text: ascii(text[:6]),
)
def test_a_monstrous_reply_is_read_in_bounded_time(text: str) -> None:
    started = time.process_time()
    reading = read(text, "en")
    assert reading.cut
    assert time.process_time() - started < 4


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("The parcel is on its way.", "en"),
        ("Das Paket ist unterwegs und wird morgen bei Ihnen sein.", "de"),
        ("Le colis est en route et vous le recevrez bientôt.", "fr"),
        ("Посылка уже в пути.", "ru"),
        ("Посилка вже в дорозі, ви її отримаєте.", "uk"),
        ("包裹正在路上。", "zh"),
        ("TCK-3042", ""),
        ("15:30", ""),
    ],
)
def test_language(text: str, lang: str) -> None:
    assert language(text) == lang


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<tool_response>\nok\n</tool_response>", "tool_result"),
        ('<invoke name="find"><parameter name="a">1</parameter></invoke>', "tool_call"),
        ("<｜DSML｜invoke name=", "tool_call"),
        ("[TOOL_CALLS]", "tool_call"),
        ('[find_thing(thing_id="T-1")]', "tool_call"),
        ("Action: find_thing\nAction Input: {}", "tool_call"),
        ("Observation: it is blue", "tool_result"),
        ('{"name": "find", "arguments": {"a": 1}}', "tool_call"),
        ('Here you are: {"colour": "blue", "si', "json"),
        ("call(T-1)", ""),
        ("ten < twelve > eleven", ""),
        ("It is <b>blue</b> (really).", ""),
    ],
)
def test_markup_is_told_by_its_shape(text: str, kind: str) -> None:
    assert next((found for found, _, _ in markup(text)), "") == kind


def test_a_name_on_offer_in_front_of_a_bracket_is_a_call() -> None:
    assert markup("lookup(42)", ["lookup"])
    assert not markup("a lookup (by hand) is slow", ["find"])
