"""Reading a source's file: JSON, JSON Lines, several JSON values one after another, YAML, or CSV."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import yaml

from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict_each, too_deep
from toolbench.domain.files import read_text
from toolbench.errors import SuiteError

TYPOGRAPHIC = str.maketrans("«»“”", '""""')
"""Quotation marks that a word processor or a web page makes of straight ones."""


def read_values(path: Path) -> tuple[list[JSON], list[str]]:
    """Return the JSON values of a file in order, and a remark when it was not read letter by letter.

    Raises
    ------
    SuiteError
        When it is no strict JSON, or empty.
    """
    text = read_text(path)
    remarks: list[str] = []
    if '"' not in text and text != text.translate(TYPOGRAPHIC):
        text = text.translate(TYPOGRAPHIC)
        remarks.append(f"{path.name}: typographic quotation marks were read as straight ones")
    try:
        values = loads_strict_each(text)
    except StrictJSONError as fault:
        raise SuiteError(f"{path}:{fault.line}: not valid JSON: {fault}") from None
    if not values:
        raise SuiteError(f"{path}: the file is empty")
    return values, remarks


class _Plain(yaml.SafeLoader):
    """YAML as configurations use it: no aliases, with which a small file can unfold without end."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


_Plain.yaml_implicit_resolvers = {
    letter: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:timestamp"]
    for letter, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path) -> JSON:
    """Return the value of a YAML file, which a JSON file is too.

    Raises
    ------
    SuiteError
        When it is no YAML, has aliases, or is nested too deeply.
    """
    text = read_text(path)
    try:
        value = yaml.load(text, _Plain)
    except (yaml.YAMLError, RecursionError, ValueError) as fault:
        raise SuiteError(f"{path}: not valid YAML: {' '.join(str(fault).split())[:160]}") from None
    if too_deep(value):
        raise SuiteError(f"{path}: nested too deeply")
    # YAML's keys and values can be of types that JSON does not have.
    return json.loads(json.dumps(value, default=str))


def read_rows(path: Path) -> tuple[list[JSON], list[str]]:
    """Return the rows of a file of cases: the lines of a CSV table, or JSON objects, alone or in a list.

    Raises
    ------
    SuiteError
        When it is neither.
    """
    if path.suffix.lower() in (".csv", ".tsv"):
        return _table(path), []
    values, remarks = read_values(path)
    if len(values) == 1 and isinstance(values[0], dict):
        inside = next((values[0][key] for key in ("cases", "tests", "data") if key in values[0]), None)
        values = inside if isinstance(inside, list) else values
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    for number, value in enumerate(values, 1):
        if not isinstance(value, dict):
            raise SuiteError(f"{path}: case {number}: {str(value)[:40]!r} is no object")
    return values, remarks


def _table(path: Path) -> list[JSON]:
    text = read_text(path)
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ";" if _semicolons(text) else ","
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    found: list[JSON] = []
    try:
        for row in rows:
            if None in row:
                raise SuiteError(f"{path}:{rows.line_num}: more cells than the header has")
            found.append({key: cell for key, cell in row.items() if cell not in (None, "")})
    except csv.Error as fault:
        raise SuiteError(f"{path}:{rows.line_num}: not a CSV table: {fault}") from None
    if not found:
        raise SuiteError(f"{path}: a table needs a header and at least one row")
    return found


def _semicolons(text: str) -> bool:
    head = text.partition("\n")[0]
    return head.count(";") > head.count(",")
