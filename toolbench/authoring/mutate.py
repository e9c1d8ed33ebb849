"""Argument objects with exactly one fault each, for any tool: the validator must name every one.

The expected codes come from the schema alone, never from the validator under test. A fault is skipped where
the schema would see a second one in it (a longer string also breaks a pattern), because its code would not
be certain.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.domain.contract import ToolSpec
from toolbench.domain.validation import portable_regex

Path = tuple[str | int, ...]
Fault = tuple[str, JSON, frozenset[str]]
"""Kind of the fault, the faulty value, and the codes it must produce."""

WRONG_VALUES: Mapping[str, JSON] = {
    "string": 12345,
    "number": True,
    "integer": 1.5,
    "boolean": "true",
    "array": {"item": 1},
    "object": ["item"],
}
"""For each type a value of another type that no other keyword of a string or number schema looks at."""

BAD_FORMATS: Mapping[str, str] = {
    "date": "2026-13-45",
    "time": "25:61:00Z",
    "date-time": "2026-13-45T25:61:00Z",
    "email": "nobody",
    "idn-email": "nobody",
    "uuid": "not-a-uuid",
    "ipv4": "300.1.1.1",
    "ipv6": "12345::z",
    "uri": "not a uri",
}

COMBINATORS = ("anyOf", "oneOf", "allOf", "not", "if")


@dataclass(frozen=True)
class Mutation:
    """One faulty argument object.

    Attributes
    ----------
    kind
        Name of the fault, for example ``number_as_string``.
    path
        Where it is, as ``$.items[0].name``.
    arguments
        The whole object with the fault in it.
    expected_codes
        Codes of :mod:`toolbench.domain.validation` it must produce, all of them and no other.
    """

    kind: str
    path: str
    arguments: Mapping[str, JSON]
    expected_codes: frozenset[str]


def mutate_arguments(tool: ToolSpec, arguments: Mapping[str, JSON]) -> Iterator[Mutation]:
    """Yield every applicable single fault of a valid argument object, nested values included."""
    for path, schema, value in _sites(tool.parameters, dict(arguments), (), tool.parameters):
        for kind, faulty, codes in _faults(schema, value, is_root=not path):
            shown = "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
            yield Mutation(kind, shown, _replaced(dict(arguments), path, faulty), codes)


def _sites(
    schema: Mapping[str, Any], value: JSON, path: Path, root: Mapping[str, Any]
) -> Iterator[tuple[Path, Mapping[str, Any], JSON]]:
    """Yield every value that has a schema of its own; of an array the first item stands for all."""
    schema = _resolved(schema, root)
    yield path, schema, value
    if isinstance(value, dict):
        for name, inner in schema.get("properties", {}).items():
            if name in value and isinstance(inner, dict):
                yield from _sites(inner, value[name], (*path, name), root)
    if isinstance(value, list) and value and isinstance(schema.get("items"), dict):
        yield from _sites(schema["items"], value[0], (*path, 0), root)


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        target: Any = root
        for part in schema["$ref"].removeprefix("#").strip("/").split("/"):
            target = target[part] if part else target
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def _replaced(arguments: dict[str, JSON], path: Path, value: JSON) -> dict[str, JSON]:
    if not path:
        return dict(value)
    result = copy.deepcopy(arguments)
    target: Any = result
    for part in path[:-1]:
        target = target[part]
    target[path[-1]] = value
    return result


def _faults(schema: Mapping[str, Any], value: JSON, *, is_root: bool) -> Iterator[Fault]:
    if any(keyword in schema for keyword in COMBINATORS):
        return
    if not is_root:
        yield from _type_faults(schema, value)
    if isinstance(value, dict):
        yield from _object_faults(schema, value)
    elif isinstance(value, list):
        yield from _array_faults(schema, value)
    elif isinstance(value, str):
        yield from _string_faults(schema, value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number_faults(schema, value)


def _type_faults(schema: Mapping[str, Any], value: JSON) -> Iterator[Fault]:
    if "type" not in schema:
        return
    types = [schema["type"]] if isinstance(schema["type"], str) else list(schema["type"])
    wrong_type = frozenset({"wrong_type"})
    if "null" not in types:
        yield "null", None, frozenset({"null_value"})
    if len(types) > 1:
        return
    yield "wrong_type", WRONG_VALUES[types[0]], wrong_type
    if types[0] in ("number", "integer"):
        yield "number_as_string", str(value), wrong_type


def _object_faults(schema: Mapping[str, Any], value: Mapping[str, JSON]) -> Iterator[Fault]:
    for name in schema.get("required", ()):
        if name in value:
            rest = {key: inner for key, inner in value.items() if key != name}
            yield "drop_required", rest, frozenset({"missing_required"})
    if schema.get("additionalProperties") is False:
        yield "unknown_property", {**value, "unheard_of": "x"}, frozenset({"unexpected_property"})


def _array_faults(schema: Mapping[str, Any], value: Sequence[JSON]) -> Iterator[Fault]:
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    unique = schema.get("uniqueItems", False)
    if least:
        yield "too_short", list(value[: least - 1]), frozenset({"too_short"})
    if most is not None and value and not unique:
        yield "too_long", [value[0]] * (most + 1), frozenset({"too_long"})
    if unique and value and (most is None or len(value) < most):
        yield "duplicate_item", [*value, value[0]], frozenset({"duplicate_item"})


def _string_faults(schema: Mapping[str, Any], value: str) -> Iterator[Fault]:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    pattern, choices, form = schema.get("pattern"), schema.get("enum"), schema.get("format")
    if least or (pattern and not portable_regex(pattern).search("")) or (choices and "" not in choices):
        yield "empty", "", frozenset({"empty_value"})
    if choices:
        yield "out_of_enum", f"{value}_unheard_of", frozenset({"not_in_enum"})
        return
    if pattern:
        # Same length, so that only the pattern can be broken.
        wrong = next(
            (
                text
                for fill in "~!я0"
                if not portable_regex(pattern).search(text := fill * max(len(value), 1))
            ),
            None,
        )
        if wrong is not None and not form:
            yield "bad_pattern", wrong, frozenset({"pattern_mismatch"})
        return
    if isinstance(form, str) and form in BAD_FORMATS and not least and most is None:
        yield "bad_format", BAD_FORMATS[form], frozenset({"bad_format"})
    if form:
        return
    if least > 1:
        yield "too_short", value[: least - 1], frozenset({"too_short"})
    if most is not None:
        yield "too_long", (value or "x") * (most + 1), frozenset({"too_long"})


def _number_faults(schema: Mapping[str, Any], value: float) -> Iterator[Fault]:
    codes = frozenset({"out_of_range"})
    if "enum" in schema or "const" in schema:
        if "enum" in schema:
            largest = max(choice for choice in schema["enum"] if isinstance(choice, int | float))
            yield "out_of_enum", largest + 1, frozenset({"not_in_enum"})
        return
    step = schema.get("multipleOf", 1)
    if "minimum" in schema:
        yield "below_minimum", schema["minimum"] - step, codes
    if "maximum" in schema:
        yield "above_maximum", schema["maximum"] + step, codes
    if "exclusiveMinimum" in schema:
        yield "at_exclusive_minimum", schema["exclusiveMinimum"], codes
    if "exclusiveMaximum" in schema:
        yield "at_exclusive_maximum", schema["exclusiveMaximum"], codes
