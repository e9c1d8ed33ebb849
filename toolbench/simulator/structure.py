"""The shape of a request, held against a JSON Schema, and told in the provider's own words."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import fastjsonschema
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError

from toolbench.simulator.failures import HERE, Failure, Family

KINDS = {"required": "missing", "type": "type", "additionalProperties": "unknown"}
"""Schema keyword -> kind of misfit; every other keyword is a ``value``."""

WORST_FIRST = ("missing", "type", "value", "unknown")
"""A provider tells one misfit. What is missing says more than what is left over: both come of one mistake."""

TYPE_NAMES = {
    "string": "a string",
    "object": "an object",
    "array": "an array",
    "integer": "an integer",
    "number": "a decimal",
    "boolean": "a boolean",
    "null": "null",
}

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Misfit:
    """One place where a request has the wrong shape."""

    kind: str
    path: Path
    expected: str
    actual: str
    detail: str


def load_schema(name: str, only: Collection[str] | None = None) -> dict[str, Any]:
    """Return a fresh copy of a request schema of this package, or its part with ``only`` these fields."""
    schema: dict[str, Any] = json.loads((HERE / "schemas" / f"{name}.json").read_text("utf-8"))
    if only is not None:
        schema["properties"] = {key: schema["properties"][key] for key in only}
        schema["required"] = [key for key in schema["required"] if key in only]
    return schema


class Shape:
    """A schema, compiled for the many requests that fit it and walked for what is wrong with the others."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._fits = fastjsonschema.compile(schema, use_default=False)
        self._validator = Draft202012Validator(schema)

    def faults(self, body: Mapping[str, Any]) -> list[ValidationError]:
        """Return all that is wrong with a body."""
        try:
            self._fits(body)
        except fastjsonschema.JsonSchemaValueException:
            return self.walked(body)
        return []

    def walked(self, body: Mapping[str, Any]) -> list[ValidationError]:
        """Return the same without the compiled form, slowly."""
        return list(self._validator.iter_errors(body))


@cache
def shape(name: str) -> Shape:
    """Return the shape of a protocol's request."""
    return Shape(load_schema(name))


def check_structure(shape: Shape, body: Mapping[str, Any], family: Family) -> None:
    """Refuse a request of the wrong shape.

    Raises
    ------
    Failure
        With the worst misfit, in the family's words.
    """
    faults = [_misfit(fault) for fault in shape.faults(body)]
    if faults:
        raise misfit_failure(min(faults, key=lambda fault: WORST_FIRST.index(fault.kind)), family)


def misfit_failure(misfit: Misfit, family: Family) -> Failure:
    """Return the failure that tells of a misfit."""
    template, code = family.structure[misfit.kind]
    path = spell(misfit.path, family)
    message = (template or "").format(
        path=path,
        parent=spell(misfit.path[:-1], family),
        name=misfit.path[-1] if misfit.path else "",
        expected=misfit.expected,
        actual=misfit.actual,
        detail=misfit.detail,
    )
    if family.shape == "mistral":
        place = [{"loc": ["body", *misfit.path], "msg": message, "type": code}]
        return Failure(family.structure_status, message, details=place)
    return Failure(family.structure_status, message, code=code, param=path)


def spell(path: Path, family: Family) -> str:
    """Spell a place in the request as the family does."""
    if family.path == "dots":
        return ".".join(map(str, path))
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _misfit(fault: ValidationError) -> Misfit:
    kind = KINDS.get(str(fault.validator), "value")
    path: Path = tuple(fault.absolute_path)
    instance: Any = fault.instance
    rule: Any = fault.validator_value
    if kind == "missing":
        path = (*path, next(name for name in rule if name not in instance))
    elif kind == "unknown":
        known = fault.schema.get("properties", {}) if isinstance(fault.schema, dict) else {}
        path = (*path, next(name for name in instance if name not in known))
    expected = ""
    if kind == "type":
        expected = " or ".join(TYPE_NAMES[name] for name in ([rule] if isinstance(rule, str) else rule))
    return Misfit(kind, path, expected, _type_name(instance), fault.message[:200])


def _type_name(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return TYPE_NAMES[names.get(type(value), "null")]


@lru_cache(maxsize=512)
def _schema_fault(text: str) -> str | None:
    try:
        Draft202012Validator.check_schema(json.loads(text))
    except SchemaError as fault:
        return fault.message[:200]
    return None


def schema_fault(schema: Any) -> str | None:
    """Return what makes ``schema`` no JSON Schema, or None."""
    return _schema_fault(json.dumps(schema, sort_keys=True))
