"""Reading input files: strict JSON, JSON Lines, and the shipped JSON Schemas, with errors that say where."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from secrets import token_hex
from typing import Any

from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict
from toolbench.domain.json_schema import Draft202012Validator, ValidationError, best_match
from toolbench.errors import InputError, SuiteError


def read_text(path: Path, error: type[InputError] = SuiteError) -> str:
    """Read a UTF-8 file; every way it can fail becomes one line of the given error type."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise error(f"{path}: no such file") from None
    except IsADirectoryError:
        raise error(f"{path}: is a directory, a file is needed") from None
    except UnicodeDecodeError as fault:
        raise error(f"{path}: not UTF-8 text (byte {fault.start})") from None
    except OSError as fault:
        raise error(f"{path}: cannot be read ({fault.strerror or fault})") from None


def read_json(path: Path, schema: str | None = None, error: type[InputError] = SuiteError) -> JSON:
    """Read one strict JSON document and validate it against a shipped schema.

    Raises
    ------
    InputError
        Of the given type, with ``file:line`` for broken JSON and the path of the offending field otherwise.
    """
    text = read_text(path, error)
    try:
        value = loads_strict(text)
    except StrictJSONError as fault:
        raise error(f"{path}:{fault.line}: not valid JSON: {fault}") from None
    if schema is not None:
        validate(value, schema, str(path), error)
    return value


def read_jsonl(path: Path, schema: str | None = None) -> Iterator[tuple[int, JSON]]:
    """Yield ``(line number, value)`` of every non-empty line of a JSON Lines input file.

    Raises
    ------
    SuiteError
        At the first line that is broken or does not fit the schema.
    """
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = loads_strict(line)
        except StrictJSONError as fault:
            raise SuiteError(f"{path}:{number}: not valid JSON: {fault}") from None
        if schema is not None:
            validate(value, schema, f"{path}:{number}")
        yield number, value


def no_link(path: str, flags: int) -> int:
    """Open a file for writing unless its name is a link: what is written may not land somewhere else.

    An ``opener`` for :func:`open`; a link is an ``OSError``.
    """
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o644)


def append_text(path: Path, text: str, error: type[InputError] = SuiteError) -> None:
    """Add text to a file, making it when it is not there.

    Raises
    ------
    InputError
        Of the given type, when the file cannot be written.
    """
    try:
        with open(path, "a", encoding="utf-8", newline="\n", opener=no_link) as stream:
            stream.write(text)
    except OSError as fault:
        raise error(f"{path}: cannot be written ({fault.strerror or fault})") from None


def write_text_atomic(path: Path, text: str, error: type[InputError] = SuiteError) -> None:
    """Write a file whole or not at all, making its folder; what was there stays until the new text is.

    Raises
    ------
    InputError
        Of the given type, when the file cannot be written.
    """
    draft = path.with_name(f".{path.name}.{token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        os.replace(draft, path)
    except OSError as fault:
        raise error(f"{path}: cannot be written ({fault.strerror or fault})") from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def create_all(contents: Mapping[Path, str], error: type[InputError] = SuiteError) -> None:
    """Create all files or none, making their folders; a file that is there is never written to.

    Raises
    ------
    InputError
        Of the given type, when a file is there already or cannot be written.
    """
    written: list[Path] = []
    try:
        for path, text in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as stream:
                written.append(path)
                stream.write(text)
    except OSError as fault:
        for made in written:
            made.unlink(missing_ok=True)
        raise error(f"{path}: cannot be written ({fault.strerror or fault}); nothing was saved") from None


@cache
def schema_validator(name: str) -> Draft202012Validator:
    """Return the validator of ``toolbench/domain/schemas/<name>.schema.json``, built once."""
    schema = _schema(name)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@cache
def quick_validator(name: str) -> Callable[[JSON], bool]:
    """Return a check against the same schema, compiled: a hundred times as fast, and silent about the fault.

    What it refuses is to be put to :func:`schema_validator`, which has the last word.
    """
    import jsonschema_rs

    return jsonschema_rs.validator_for(_schema(name)).is_valid


def _schema(name: str) -> dict[str, Any]:
    text = resources.files("toolbench.domain").joinpath(f"schemas/{name}.schema.json").read_text("utf-8")
    schema: dict[str, Any] = loads_strict(text)
    return schema


def validate(value: JSON, schema: str, where: str, error: type[InputError] = SuiteError) -> None:
    """Validate against a shipped schema; the error names the place, the field and the rule."""
    if quick_validator(schema)(value):
        return
    fault = best_match(schema_validator(schema).iter_errors(value))
    if fault is not None:
        raise error(f"{where}: {describe(fault)}")


def describe(fault: ValidationError) -> str:
    """Return a one-line description of a schema fault, short even for large values."""
    field = fault.json_path.removeprefix("$").removeprefix(".") or "the whole value"
    if fault.validator == "additionalProperties":
        return f"{field}: {fault.message}"
    if fault.validator == "required":
        return f"{field}: {fault.message}"
    if fault.validator == "oneOf" and fault.parent is None and isinstance(fault.instance, dict):
        alternatives: Any = fault.validator_value
        wanted = [alternative.get("required") for alternative in alternatives]
        if all(wanted):
            return f"{field}: exactly one of {', '.join('+'.join(names) for names in wanted)} is needed"
    shown = repr(fault.instance)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return f"{field}: {shown} does not satisfy {fault.validator} {str(fault.validator_value)[:80]}"
