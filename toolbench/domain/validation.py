"""Arguments against a tool's JSON Schema: every fault has its own code.

The same function decides whether the executor accepts a call and what the checks report about it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from referencing import Registry

from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.json_schema import Draft202012Validator, SchemaError, ValidationError, extend
from toolbench.domain.patterns import Pattern, pattern
from toolbench.errors import SuiteError

CODE_OF_KEYWORD = {
    "type": "wrong_type",
    "required": "missing_required",
    "dependentRequired": "missing_required",
    "enum": "not_in_enum",
    "const": "not_in_enum",
    "minimum": "out_of_range",
    "maximum": "out_of_range",
    "exclusiveMinimum": "out_of_range",
    "exclusiveMaximum": "out_of_range",
    "multipleOf": "out_of_range",
    "pattern": "pattern_mismatch",
    "minLength": "too_short",
    "minItems": "too_short",
    "minProperties": "too_short",
    "maxLength": "too_long",
    "maxItems": "too_long",
    "maxProperties": "too_long",
    "format": "bad_format",
    "additionalProperties": "unexpected_property",
    "unevaluatedProperties": "unexpected_property",
    "propertyNames": "unexpected_property",
    "uniqueItems": "duplicate_item",
}
"""JSON Schema keyword -> finding code. A keyword that is absent here is reported as ``schema_mismatch``."""

_BY_NAME = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
NOT_PORTABLE = re.compile(r"\\[pP]\{|\(\?<|\(\?[aiLmsux]+[):]|\(\?P")
"""What dialects read differently: \\p, lookbehind, named groups, inline flags."""
_NAME = re.compile(r"\w+")


@dataclass(frozen=True)
class ArgumentIssue:
    """One fault of an argument object.

    Attributes
    ----------
    code
        See :data:`CODE_OF_KEYWORD`, plus ``null_value``, ``empty_value`` and ``schema_mismatch``.
    keys
        Names and indexes that lead to the offending value; empty for the whole object.
    expected, actual
        The rule and the value, short enough for one line.
    """

    code: str
    keys: tuple[str | int, ...]
    expected: str
    actual: str

    @property
    def path(self) -> str:
        """JSON path of the offending value, ``$`` for the whole object."""
        return f"${json_path(self.keys)}"


def json_path(keys: Iterable[str | int]) -> str:
    """Return the steps of a JSON path: ``.name``, ``[0]``, and ``['ship-to']`` for what is no plain name."""
    return "".join(
        f"[{key}]" if isinstance(key, int) else f".{key}" if _NAME.fullmatch(key) else f"['{key}']"
        for key in keys
    )


def _ecma_pattern(validator: Any, source: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """Match as ECMA-262 does: ASCII classes, and ``$`` only at the very end (Python allows a newline)."""
    if isinstance(instance, str) and not portable_regex(source).search(instance):
        yield ValidationError(f"{instance!r} does not match {source!r}")


def _decimal_multiple(validator: Any, step: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """Decide multiples in decimal, so that 10.1 is a multiple of 0.1."""
    if validator.is_type(instance, "number"):
        try:
            remainder = Decimal(str(instance)) % Decimal(str(step))
        except InvalidOperation:
            remainder = Decimal(1)
        if remainder:
            yield ValidationError(f"{instance!r} is not a multiple of {step!r}")


ArgumentValidator: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, {"pattern": _ecma_pattern, "multipleOf": _decimal_multiple}
)


def portable_regex(source: str) -> Pattern:
    """Compile a schema pattern with the meaning ECMA-262 gives it."""
    # A bare $ in Python also matches before a final newline; \Z does not.
    anchored = re.sub(r"(\\.|\[(?:\\.|[^\]\\])*\])|\$", lambda m: m.group(1) or r"\Z", source)
    return pattern(anchored, ascii_only=True)


def schema_patterns(schema: JSON) -> Iterator[tuple[str, str]]:
    """Yield the path and the source of every pattern of a schema."""
    for path, node in _walk(schema, "$"):
        if isinstance(source := node.get("pattern"), str):
            yield f"{path}.pattern", source


def dangling_references(schema: JSON) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of every reference inside a schema that leads nowhere in it."""
    anchors = {f"#{node['$anchor']}" for _, node in _walk(schema, "$") if "$anchor" in node}
    for path, node in _walk(schema, "$"):
        reference = node.get("$ref")
        inside = isinstance(reference, str) and reference.startswith("#") and reference not in anchors
        if inside and not isinstance(referenced(schema, str(reference)), dict | bool):
            yield path, str(reference)


def referenced(schema: JSON, reference: str) -> JSON:
    """Return what a reference inside a schema points at, ``None`` where there is nothing."""
    target = schema
    for part in reference.removeprefix("#").lstrip("/").split("/") if reference != "#" else ():
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(target, list) and key.isdecimal() and int(key) < len(target):
            target = target[int(key)]
        else:
            target = target.get(key) if isinstance(target, dict) else None
    return target


def build_validator(schema: JSON, where: str) -> Any:
    """Return a validator of a tool's parameter schema.

    Raises
    ------
    SuiteError
        When the schema is not valid Draft 2020-12, a pattern is not portable, a format is not checked by
        this installation, or a reference leaves the document or leads nowhere in it: a fault of the case,
        never of a model.
    """
    for path, source in schema_patterns(schema):
        _check_pattern(source, f"{where}: {path}")
    for path, node in _walk(schema, "$"):
        declared = node.get("format")
        if isinstance(declared, str) and declared not in ArgumentValidator.FORMAT_CHECKER.checkers:
            raise SuiteError(f"{where}: {path}.format: {declared!r} is not checked here; use a known format")
        reference = node.get("$ref")
        if isinstance(reference, str) and not reference.startswith("#"):
            raise SuiteError(f"{where}: {path}.$ref: {reference!r} leaves the document")
    if lost := [f"{path}.$ref: {reference!r}" for path, reference in dangling_references(schema)]:
        raise SuiteError(
            f"{where}: {'; '.join(lost)} {'lead' if lost[1:] else 'leads'} nowhere in the schema"
        )
    if fault := _fault_of_schema(canonical_json(schema)):
        raise SuiteError(f"{where}: not a valid JSON Schema at {fault}")
    return ArgumentValidator(schema, registry=Registry(), format_checker=ArgumentValidator.FORMAT_CHECKER)


@lru_cache(maxsize=20_000)
def _fault_of_schema(text: str) -> str | None:
    """Return what is wrong with a schema; kept: it takes milliseconds and is asked at every load."""
    try:
        ArgumentValidator.check_schema(json.loads(text))
    except SchemaError as fault:
        return f"{fault.json_path}: {fault.message}"
    return None


def _check_pattern(source: str, where: str) -> None:
    if NOT_PORTABLE.search(source):
        raise SuiteError(f"{where}: {source!r} is not portable (no \\p, lookbehind, named group or flag)")
    try:
        portable_regex(source)
    except SuiteError as fault:
        raise SuiteError(f"{where}: {fault}") from None


def _walk(node: JSON, path: str, by_name: bool = False) -> Iterator[tuple[str, dict[str, JSON]]]:
    """Yield path and content of every schema; ``by_name``: the node only gives schemas their names."""
    if isinstance(node, dict):
        if not by_name:
            yield path, node
        for key, value in node.items():
            if by_name or key not in ("enum", "const", "default", "examples"):
                yield from _walk(value, f"{path}.{key}", not by_name and key in _BY_NAME)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _walk(value, f"{path}[{index}]")


def argument_issues(validator: Any, arguments: JSON) -> list[ArgumentIssue]:
    """Return every fault of an argument object, in document order.

    A ``null`` where the schema wants something else is ``null_value`` and an empty string that breaks a
    length, pattern or enum rule is ``empty_value``; both say more than the keyword that refused them.
    """
    issues = {issue for fault in validator.iter_errors(arguments) for issue in _issues(fault)}
    # A value of the wrong type breaks its enum as well: one fault, one finding. (So does an empty string with
    # several keywords; the set has made those one.)
    mistyped = {issue.path for issue in issues if issue.code in ("wrong_type", "null_value")}
    kept = (issue for issue in issues if not (issue.code == "not_in_enum" and issue.path in mistyped))
    return sorted(kept, key=lambda issue: (issue.path, issue.code, issue.expected))


def _issues(fault: ValidationError) -> Iterator[ArgumentIssue]:
    if fault.validator in ("anyOf", "oneOf") and fault.context:
        yield from _branch_issues(fault)
        return
    keyword, at = str(fault.validator), tuple(fault.absolute_path)
    code = CODE_OF_KEYWORD.get(keyword, "schema_mismatch")
    expected = f"{keyword} {_short(fault.validator_value)}"
    if keyword == "required":
        missing = [
            name
            for name in _names(fault)
            if not isinstance(fault.instance, dict) or name not in fault.instance
        ]
        # The library reports one error per missing name; its message starts with that name.
        name = next((name for name in missing if fault.message.startswith(repr(name))), missing[0])
        yield ArgumentIssue(code, (*at, name), "present", "missing")
        return
    if keyword == "additionalProperties" and isinstance(fault.instance, dict):
        known = set(fault.schema.get("properties", {})) if isinstance(fault.schema, dict) else set()
        for name in sorted(set(fault.instance) - known):
            yield ArgumentIssue(code, (*at, name), "not allowed", _short(fault.instance[name]))
        return
    if fault.instance is None:
        code = "null_value"
    elif fault.instance == "" and code in ("too_short", "pattern_mismatch", "not_in_enum", "bad_format"):
        code, expected = "empty_value", "a non-empty value"
    yield ArgumentIssue(code, at, expected, _short(fault.instance))


def _names(fault: ValidationError) -> list[str]:
    wanted: Any = fault.validator_value
    return list(wanted)


def _branch_issues(fault: ValidationError) -> Iterator[ArgumentIssue]:
    """Report the branch of anyOf/oneOf that came closest: most readers mean that one."""
    branches: dict[Any, list[ValidationError]] = {}
    for child in fault.context or []:
        branches.setdefault(child.schema_path[0], []).append(child)
    if not branches:
        at = tuple(fault.absolute_path)
        yield ArgumentIssue("schema_mismatch", at, str(fault.validator), _short(fault.instance))
        return

    def distance(children: list[ValidationError]) -> tuple[bool, int]:
        return any(child.validator == "type" and not child.path for child in children), len(children)

    for child in min(branches.values(), key=distance):
        yield from _issues(child)


def _short(value: JSON, limit: int = 80) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
