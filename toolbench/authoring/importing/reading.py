"""Reading a source's file: JSON, JSON Lines, several JSON values one after another, or CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict_each
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
