"""Where an expected value may come from: generous about spelling, strict about content."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from toolbench.authoring.grounding import Sources, numbers_in, ungrounded
from toolbench.domain.contract import ToolSpec

TOOL = ToolSpec.from_json(
    {
        "name": "send",
        "description": "Sends",
        "effect": "read",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "weight": {"type": "number"},
                "service": {"enum": ["express", "standard"]},
                "currency": {"type": "string", "default": "RUB"},
                "order_id": {"type": "string"},
                "date": {"type": "string", "format": "date"},
                "expression": {"type": "string"},
                "fragile": {"type": "boolean"},
                "items": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                },
            },
        },
        "synonyms": {"city": {"Казань": ["Казани", "Kazan"]}},
        "normalizers": {"order_id": "identifier"},
    }
)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param({"city": "Самара"}, "Куда: самара.", id="verbatim_in_another_case"),
        pytest.param({"city": "Орёл"}, "В ОРЕЛ!", id="yo_and_ye"),
        pytest.param({"city": "Казань"}, "из Казани", id="inflected_by_synonym"),
        pytest.param({"city": "Kazan"}, "из Казани", id="other_script_by_synonym"),
        pytest.param({"weight": 2.5}, "вес 2,5 кг", id="decimal_comma"),
        pytest.param({"weight": 1000}, "вес 1 000 кг", id="grouped_by_blank"),
        pytest.param({"weight": 1500.5}, "1,500.5 kg", id="grouped_by_comma"),
        pytest.param({"weight": -5}, "5 degrees below zero", id="sign_is_wording"),
        pytest.param({"service": "express"}, "", id="enum"),
        pytest.param({"currency": "RUB"}, "", id="default"),
        pytest.param({"fragile": True}, "", id="yes_or_no"),
        pytest.param({"order_id": "ORD-123456"}, "заказ ORD 123456", id="identifier_with_blank"),
        pytest.param({"order_id": "ORD-123456"}, "order ord123456", id="identifier_without_hyphen"),
        pytest.param({"date": "2026-06-15"}, "15 июня", id="date_in_words"),
        pytest.param({"date": "2026-06-15"}, "on 15.06.2026", id="date_in_digits"),
        pytest.param({"expression": "1250*0.15"}, "15 % of 1250", id="percentage"),
        pytest.param({"expression": "(2+2)*2"}, "2 plus 2, times 2", id="calculation"),
        pytest.param({"items": [{"name": "lamp"}]}, "one lamp", id="nested"),
    ],
)
def test_a_value_that_was_said_is_grounded(arguments: dict[str, Any], said: str) -> None:
    assert list(ungrounded(TOOL, arguments, Sources([said]))) == []


@pytest.mark.parametrize(
    ("arguments", "said", "path"),
    [
        pytest.param({"city": "Пермь"}, "из Казани", "city", id="another_city"),
        pytest.param({"city": "Perm"}, "a permanent address", "city", id="part_of_a_word"),
        pytest.param({"weight": 25}, "вес 2,5 кг", "weight", id="another_number"),
        pytest.param({"weight": 5}, "2,5 кг", "weight", id="digits_of_another_number"),
        pytest.param({"service": "slow"}, "quickly", "service", id="outside_enum"),
        pytest.param({"order_id": "ORD-123457"}, "заказ ORD-123456", "order_id", id="another_identifier"),
        pytest.param({"date": "2026-06-16"}, "15 июня", "date", id="another_day"),
        pytest.param({"date": "2026-06-15"}, "15 июля", "date", id="another_month"),
        pytest.param({"date": "2027-06-15"}, "15 июня 2026", "date", id="another_year"),
        pytest.param({"expression": "1250*0.2"}, "15 % of 1250", "expression", id="another_percentage"),
        pytest.param({"items": [{"name": "lamp"}]}, "one table", "items[0].name", id="nested"),
        pytest.param({"city": "—"}, "дом — это всё", "city", id="no_word_at_all"),
    ],
)
def test_an_invented_value_is_named(arguments: dict[str, Any], said: str, path: str) -> None:
    assert [found for found, _ in ungrounded(TOOL, arguments, Sources([said]))] == [path]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,500", {"1500", "1.5"}),
        ("1,234,567", {"1234567"}),
        ("9 300", {"9300", "9", "300"}),
        ("18:00", {"18", "0"}),
        ("none", set()),
    ],
)
def test_every_reading_of_a_number_counts(text: str, numbers: set[str]) -> None:
    assert numbers_in(text) == set(map(Decimal, numbers))
