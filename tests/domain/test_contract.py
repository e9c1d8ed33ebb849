from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import ROOT
from toolbench.domain.contract import Contract, Overlay, ToolSpec

TOOL = {
    "name": "look",
    "description": {"ru": "Смотрит", "en": "Looks"},
    "parameters": {
        "type": "object",
        "properties": {
            "where": {"type": "string", "description": {"ru": "Где", "en": "Where"}},
            "how": {"type": "string", "description": "how"},
        },
    },
    "effect": "read",
}


def descriptions(tool: ToolSpec, lang: str) -> dict[str, str]:
    return {name: one["description"] for name, one in tool.parameters_in(lang)["properties"].items()}


def test_parameters_are_described_in_the_language_of_the_case() -> None:
    tool = ToolSpec.from_json(TOOL)
    assert descriptions(tool, "ru") == {"where": "Где", "how": "how"}
    assert descriptions(tool, "en") == {"where": "Where", "how": "how"}
    assert descriptions(tool, "de") == {"where": "Where", "how": "how"}


def test_schema_is_the_same_in_every_language() -> None:
    tool = ToolSpec.from_json(TOOL)
    assert tool.parameters["properties"]["where"] == {"type": "string", "description": "Where"}
    assert [issue.code for issue in tool.issues({"where": 1})] == ["wrong_type"]


def test_description_variant_replaces_the_wording_in_every_language() -> None:
    tool = ToolSpec.from_json(TOOL)
    entry = {"look": {"parameters": {"where": "x"}}}
    worded = Overlay("v", entry, {}).apply(tool)
    assert [descriptions(worded, lang)["where"] for lang in ("ru", "en")] == ["x", "x"]


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("contracts/*/tools.json")), ids=lambda path: path.parent.name
)
def test_shipped_tools_have_no_english_sentence_in_russian(path: Path) -> None:
    for tool in Contract.load(path).tools:
        for name, told in descriptions(tool, "ru").items():
            assert re.search("[а-я]", told), (tool.name, name, told)
