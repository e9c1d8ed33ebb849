"""Hints on what a model is told about tools: each rule finds its fault and lets its remedy pass."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.authoring.importing.support import write
from tests.support import ROOT
from toolbench.authoring.describing import _data, describe
from toolbench.cli import main
from toolbench.domain.contract import Contract

GOOD = "Get the state of an order by its number. Use it only for orders, not for parcels of other shops."


def hints(description: Any = GOOD, also: Any = (), **properties: Any) -> list[tuple[str, str]]:
    parameters = {"type": "object", "properties": properties}
    tool = {"name": "get_order", "description": description, "parameters": parameters, "effect": "read"}
    contract = Contract.from_json({"version": "1", "tools": [tool, *also]}, "test")
    return [(hint.code, hint.where) for hint in describe(contract, ["get_order"])]


def test_a_description_that_says_it_all_needs_no_hint() -> None:
    weight = {"type": "number", "description": "Weight in kilograms."}
    assert hints(weight=weight) == []


@pytest.mark.parametrize(
    ("code", "description"),
    [
        ("no_verb", "Parcels of this shop and where they are now, by number; not those of other shops."),
        ("no_when_not", "Get the state of an order by its number, as the warehouse has written it down."),
        ("too_short", "Get an order."),
        ("too_long", GOOD + " It is so." * 120),
    ],
)
def test_a_text_that_lacks_something_is_told(code: str, description: str) -> None:
    assert hints(description) == [(code, "get_order")]


def test_each_language_is_read_as_its_own() -> None:
    russian = "Получить состояние заказа по его номеру. Только для заказов, не для посылок других магазинов."
    assert hints({"en": GOOD, "ru": russian}) == []
    assert ("no_verb", "get_order/ru") in hints(
        {"en": GOOD, "ru": "Заказы магазина и только они, не посылки прочих людей."}
    )


@pytest.mark.parametrize(
    ("code", "faulty", "mended"),
    [
        ("no_parameter_description", {"type": "string"}, {"type": "string", "description": "Order number."}),
        (
            "unnamed_unit",
            {"type": "number", "description": "How heavy."},
            {"type": "number", "description": "How heavy, in grams."},
        ),
        (
            "enum_without_meaning",
            {"enum": ["S", "XL"], "description": "Size."},
            {"enum": ["S", "XL"], "description": "Size: S is small, XL very large."},
        ),
    ],
)
def test_a_parameter_that_lacks_something_is_told(code: str, faulty: Any, mended: Any) -> None:
    assert hints(weight=faulty)[0] == (code, "get_order.weight")
    assert hints(weight=mended) == []


@pytest.mark.parametrize("more", [{"format": "date"}, {"description": "Day, such as 2026-03-14."}])
def test_a_text_of_a_certain_form_shows_it(more: Any) -> None:
    bare = {"type": "string", "description": "Day of arrival."}
    assert hints(start_date=bare) == [("unnamed_format", "get_order.start_date")]
    assert hints(start_date={**bare, **more}) == []


def test_twins_are_told_apart() -> None:
    twin = {"name": "fetch_order", "description": GOOD, "parameters": {"type": "object"}, "effect": "read"}
    assert hints(also=[twin]) == [("neighbour", "get_order")]


def test_every_rule_has_its_public_source() -> None:
    data = _data()
    assert all(rule["source"] in data["sources"] for rule in data["rules"].values())
    assert all(source["url"].startswith("https://") for source in data["sources"].values())


def test_the_command_names_rule_and_source_and_refuses_an_unknown_tool(tmp_path: Path) -> None:
    file = write(tmp_path / "tools.json", [{"name": "f", "description": "Things."}])
    result = CliRunner().invoke(main, ["describe", "f", "--from", f"openai-tools:{file}"])
    assert result.exit_code == 1
    assert "f: no_verb: the first sentence" in result.output
    assert "https://" in result.output
    unknown = CliRunner().invoke(main, ["describe", "g", "--from", f"openai-tools:{file}"])
    assert (unknown.exit_code, "no such tool; there are: f" in unknown.output) == (2, True)
    shipped = CliRunner().invoke(main, ["describe", "--from", str(ROOT / "contracts" / "delivery")])
    assert shipped.exit_code in (0, 1), shipped.output
