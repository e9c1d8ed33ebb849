"""Our validator against one written by others (``jsonschema_rs``), on instances of every shipped schema.

Where the specification leaves room, the decided behaviour is pinned here, whatever either library does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.judging.suites import SUITES
from toolbench.adapters.samples import sample_offer
from toolbench.authoring.mutate import mutate_arguments
from toolbench.domain.contract import ToolSpec
from toolbench.selfcheck.donors import Donors

TOOLS = [(suite.name, tool) for suite in SUITES.values() for tool in suite.contract.tools]
TOOLS += [("fixtures", tool) for tool in sample_offer().tools]
IDS = [f"{suite}-{tool.name}" for suite, tool in TOOLS]

TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["", " ", "a", "ORD-123456", "ord-123456", "INV-1001", "USD", "usd", "express", "5", "NaN", "2,5"]
    ),
    st.sampled_from(["2026-11-30", "2026-13-01", "x@y.test", "nobody", "Europe/Moscow", "2+2*2"]),
    st.sampled_from(["é", "e\u0301", "true", "null"]),
    st.from_regex(r"[A-Z]{2,4}-[0-9]{3,7}", fullmatch=True),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.sampled_from([0, 1, 2.0, 1000, 1000.5, 1e3, -0.0, 10**20, 0.1]),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    TEXTS,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)


def good_values(suite: str, tool: ToolSpec) -> dict[str, list[Any]]:
    """Return values that fit, by argument, so that instances are often nearly valid."""
    found: dict[str, list[Any]] = {}
    if suite in SUITES:
        for lang in SUITES[suite].langs:
            for arguments in Donors(SUITES[suite], lang).known(tool.name):
                for name, value in arguments.items():
                    found.setdefault(name, []).append(value)
    return found


@st.composite
def instances(draw: st.DrawFn, suite: str, tool: ToolSpec) -> Any:
    """Draw an argument object that is valid, nearly valid, or anything."""
    if draw(st.integers(0, 9)) == 0:
        return draw(VALUES)
    good = good_values(suite, tool)
    made = {}
    for name, schema in tool.properties.items():
        options = [*good.get(name, ()), *schema.get("enum", ())]
        if draw(st.integers(0, 9)) > 1:
            fitting = st.sampled_from(options) if options and draw(st.integers(0, 3)) else VALUES
            made[name] = draw(fitting)
    if draw(st.integers(0, 5)) == 0:
        made[draw(st.text(max_size=5))] = draw(SCALARS)
    return made


def second(schema: Mapping[str, Any]) -> Any:
    return jsonschema_rs.Draft202012Validator(dict(schema), validate_formats=True)


@pytest.mark.parametrize(("suite", "tool"), TOOLS, ids=IDS)
def test_both_validators_say_the_same(suite: str, tool: ToolSpec) -> None:
    other = second(tool.parameters)

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(instances(suite, tool))
    def agree(instance: Any) -> None:
        ours, theirs = not tool.issues(instance), other.is_valid(instance)
        assert ours is theirs, json.dumps(instance, ensure_ascii=True)

    agree()


@pytest.mark.parametrize(("suite", "tool"), TOOLS, ids=IDS)
def test_both_validators_refuse_every_mutation(suite: str, tool: ToolSpec) -> None:
    known = good_values(suite, tool)
    gold = {name: values[0] for name, values in known.items()}
    other = second(tool.parameters)
    # A tool that no case calls with arguments has none to mutate; the hypothesis above covers it.
    if tool.issues(gold):
        assert suite == "fixtures"
        return
    assert other.is_valid(gold)
    for mutation in mutate_arguments(tool, gold):
        assert not other.is_valid(mutation.arguments), mutation.kind
        assert {issue.code for issue in tool.issues(mutation.arguments)} == mutation.expected_codes


def tool_for(schema: Mapping[str, Any]) -> ToolSpec:
    parameters = {"type": "object", "properties": {"v": schema}, "required": ["v"]}
    return ToolSpec("t", {"": "d"}, parameters)


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        pytest.param({"pattern": "^[A-Z]{2}$"}, "LV\n", False, id="dollar-is-the-very-end"),
        pytest.param({"pattern": "^[A-Z]{2}$"}, "LV", True, id="pattern"),
        pytest.param({"pattern": "^\\d$"}, "\uff15", False, id="digits-are-ascii"),
        pytest.param({"pattern": "b"}, "abc", True, id="pattern-is-not-anchored"),
        pytest.param({"format": "date-time"}, "20-04", False, id="date-time"),
        pytest.param({"format": "date-time"}, "2026-04-20T10:00:00Z", True, id="date-time-right"),
        pytest.param({"format": "date"}, "2026-02-30", False, id="date"),
        pytest.param({"format": "uuid"}, "nope", False, id="uuid"),
        pytest.param({"format": "email"}, "nobody", False, id="email"),
        pytest.param({"format": "date"}, 5, True, id="formats-are-about-strings"),
        pytest.param({"type": "number", "multipleOf": 0.1}, 10.1, True, id="multiple-in-decimal"),
        pytest.param({"type": "number", "multipleOf": 0.01}, 19.99, True, id="cents"),
        pytest.param({"type": "number", "multipleOf": 0.1}, 10.15, False, id="no-multiple"),
        pytest.param({"type": "integer"}, 1.0, True, id="1.0-is-an-integer"),
        pytest.param({"type": "integer"}, 1.5, False, id="1.5-is-none"),
        pytest.param({"type": "integer"}, True, False, id="true-is-no-integer"),
        pytest.param({"type": "integer"}, "3", False, id="a-text-is-no-integer"),
        pytest.param({"enum": [1]}, True, False, id="true-is-not-1"),
        pytest.param({"enum": [1]}, 1.0, True, id="1.0-is-1"),
        pytest.param({"minLength": 2}, "é", False, id="length-in-characters"),
        pytest.param({"maxLength": 1}, "😀", True, id="an-emoji-is-one"),
        pytest.param({"items": {"type": "number"}}, [12, 15], True, id="integers-are-numbers"),
        pytest.param({"type": "array", "uniqueItems": True}, [1, 1.0], False, id="1-and-1.0-are-duplicates"),
        pytest.param({"type": "array", "uniqueItems": True}, [1, True], True, id="1-and-true-are-not"),
    ],
)
def test_where_the_specification_is_loose_the_decided_behaviour_holds(
    schema: dict[str, Any], value: Any, valid: bool
) -> None:
    tool = tool_for(schema)
    assert (not tool.issues({"v": value})) is valid
    assert second(tool.parameters).is_valid({"v": value}) is valid
