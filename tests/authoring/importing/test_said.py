"""What people say of a tool and ask of its arguments is drafted, marked, and enough for lint and judge."""

from __future__ import annotations

from typing import Any

import pytest

from toolbench.authoring.importing.effects import verbs
from toolbench.authoring.importing.said import LANGS, worded
from toolbench.domain.contract import Contract
from toolbench.judging.reading.reader import read
from toolbench.judging.wording import action, acts

PHONE = {"type": "string", "description": "The phone number, ten digits"}


def tool(name: str, **more: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"phone_no": PHONE, "order_id": {"type": "string"}}}
    return {"name": name, "description": "Does it.", "parameters": parameters, "effect": "write", **more}


def test_an_argument_is_called_by_its_name_and_by_the_beginning_of_its_description() -> None:
    (made,) = worded([tool("cancel_order")])
    assert made["ask_words"]["phone_no"]["en"] == ["phone no", "phone number", "which phone"]
    assert made["ask_words"]["order_id"]["en"] == ["order id", "order number", "which order"]
    assert made["guessed"]["ask_words"] == "from the arguments' names and descriptions"
    assert made["guessed"]["actions"] == "how 'cancel' of the name is said"


def test_a_russian_description_gives_russian_words() -> None:
    texts = {"ru": "Номер телефона: десять цифр", "en": "Phone"}
    properties = {"p": {"type": "string", "description": texts}}
    (made,) = worded([{**tool("send"), "parameters": {"type": "object", "properties": properties}}])
    assert made["ask_words"]["p"] == {"en": ["p", "phone"], "ru": ["p", "номер телефона"]}


def test_what_a_source_says_is_kept_and_no_guess() -> None:
    own = {"actions": {"en": ["zap"]}, "ask_words": {"phone_no": {"en": ["phone"]}}}
    (made,) = worded([tool("send", **own)])
    assert made == tool("send", **own)


def test_an_unknown_verb_is_said_as_it_stands() -> None:
    (made,) = worded([tool("defenestrate_clerk")])
    assert made["actions"] == {"en": ["defenestrate"]}


@pytest.mark.parametrize("verb", sorted(verbs()))
def test_every_verb_of_names_is_said_in_both_languages(verb: str) -> None:
    (made,) = worded([tool(f"{verb}_it")])
    assert made["guessed"]["actions"] == f"how {verb!r} of the name is said"
    assert all(made["actions"][lang] for lang in LANGS)


@pytest.mark.parametrize(
    ("lang", "said", "other"),
    [
        ("en", "I have cancelled your booking.", "Your booking costs 30."),
        ("ru", "Я отменил вашу бронь.", "Ваша бронь стоит 30."),
    ],
)
def test_a_claim_of_a_drafted_action_is_recognised(lang: str, said: str, other: str) -> None:
    contract = Contract.from_json({"version": "1", "tools": worded([tool("cancel_booking")])}, "here")
    forms = action(contract.tools[0], lang)
    assert any(acts(clause, forms) for clause in read(said, lang).clauses)
    assert not any(acts(clause, forms) for clause in read(other, lang).clauses)
