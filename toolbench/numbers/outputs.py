"""What a run leaves for other programs: ``report.json`` and ``errors.csv``.

Both are functions of the log alone: computed twice from the same JSONL they are equal byte for byte.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping

import pandas as pd

from toolbench.domain.canonical import JSON, sha256
from toolbench.domain.suite import Suite
from toolbench.numbers.breakdowns import SIZES, breakdowns
from toolbench.numbers.cautions import cautions
from toolbench.numbers.definitions import RATES
from toolbench.numbers.frames import ScoredRun
from toolbench.numbers.gates import gates_json
from toolbench.numbers.rows import GROUP
from toolbench.numbers.signature import signature
from toolbench.numbers.tables import Key, groups, records

FORMAT = 1
DIGITS = 9
"""Significant digits kept, so that the last bits of a sum cannot differ between machines."""

FIGURE = ("value", "numerator", "denominator", "ci_low", "ci_high")
EXTRA = ("cases", "clusters", "macro", "classes", "not_scored", "to_review", "worst", "best")
COUNTED = (
    "planned",
    "attempted",
    "transport_errors",
    "unsupported",
    "budget_stops",
    "judge_errors",
    "cached_answers",
    "scored",
    "to_review",
)

ERRORS = ("provider", "model", "case_id", "attempt", "error_code", "expected", "actual")
ERRORS_BESIDE = ("protocol", "suite", "lang", "condition", "reason")
LONGEST_CELL = 2000
"""Characters of one cell of ``errors.csv``; the log has the whole."""
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
_LATER = re.compile(r";(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Where a spreadsheet that separates cells by semicolons would begin a formula."""
_NUMBER = re.compile(r"-?\d+([.,]\d+)?")
_ONE_LINE = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False).encode
_UNSEEN = re.compile(
    "[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
"""What is no letter to look for, may hide or reorder others, or is no Unicode at all: it stays escaped."""
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories that break a line, reorder it or do not show: they are spelt out."""


def report_json(scored: ScoredRun) -> dict[str, JSON]:
    """Return the content of ``report.json`` (``schemas/report.schema.json``).

    ``results`` has one object per provider, model, protocol, suite, language and condition, in running
    order; figures are objects of ``value``, ``numerator``, ``denominator``, ``ci_low``, ``ci_high`` and,
    where they exist, ``cases``, ``clusters``, ``macro``, ``classes``, ``not_scored``, ``to_review``,
    ``worst``, ``best``.
    """
    header, suites = scored.log.header, scored.log.header.load_suites()
    hashes = {name: suite.hashes for name, suite in suites.items()}
    prompts = {
        f"{suite}.{name}": value
        for suite, parts in hashes.items()
        for name, value in parts.items()
        if name.startswith("prompt.")
    }
    report = {
        "format": FORMAT,
        "run_id": header.run_id,
        "started_at": header.started_at,
        "contract_hash": _one({suite: parts["contract"] for suite, parts in hashes.items()}),
        "prompt_version": _one(prompts),
        "cases_version": _one({suite: parts["cases"] for suite, parts in hashes.items()}),
        "signature": str(signature(header, suites=suites, labels=scored.people.signature)),
        "hashes": dict(header.hashes),
        "versions": dict(header.versions),
        "git_commit": header.git_commit,
        "labels": dict(header.labels),
        "prices": [dict(player) for player in header.players],
        "gates": gates_json(scored),
        "planned": len(scored.planned),
        "made": len(scored.attempts),
        "warnings": cautions(scored),
        "problems": [f"line {problem.line}: {problem.reason}" for problem in scored.problems],
        "results": _results(scored, suites),
    }
    stable: dict[str, JSON] = _stable(report)
    return stable


def _results(scored: ScoredRun, suites: Mapping[str, Suite]) -> list[JSON]:
    results: dict[Key, dict[str, JSON]] = {}
    for row in records(scored.figures):
        named = {name: row[name] for name in GROUP}
        key = tuple(named.values())
        if key not in results:
            line = str(signature(scored.log.header, named, suites, scored.people.signature))
            results[key] = {**named, "signature": line, "metrics": {}, "failures": {}, "breakdowns": {}}
        if row["metric"] in COUNTED:
            results[key][row["metric"]] = int(row["value"])
        else:
            results[key]["metrics"][row["metric"]] = _figure(row)
    for name, column, frame in breakdowns(scored):
        for row in records(frame[_worth_showing(frame)]):
            parts = results[tuple(row[name] for name in GROUP)]["breakdowns"].setdefault(name, {})
            parts.setdefault(str(row[column]), {})[row["metric"]] = _figure(row)
    for key, group in groups(scored.findings, GROUP):
        attempts = group.drop_duplicates(["case_id", "repetition", "code"])
        numbers = attempts["code"].value_counts().sort_index()
        results[key]["failures"] = {str(code): int(number) for code, number in numbers.items()}
    return list(results.values())


def report_text(scored: ScoredRun) -> str:
    """Return ``report.json`` as the text to write: sorted keys, letters as letters, a figure a line."""
    text = _lines(report_json(scored), "\n") + "\n"
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def _lines(value: JSON, margin: str) -> str:
    """Return a value with a line for every part that holds no further parts.

    The standard library indents every number, in Python, which takes a large run ten times as long.
    """
    inner = margin + " "
    if isinstance(value, dict) and any(isinstance(part, dict | list) for part in value.values()):
        parts = [f"{_ONE_LINE(name)}: {_lines(value[name], inner)}" for name in sorted(value)]
        return f"{{{inner}{f',{inner}'.join(parts)}{margin}}}"
    if isinstance(value, list) and any(isinstance(part, dict | list) for part in value):
        return f"[{inner}{f',{inner}'.join(_lines(part, inner) for part in value)}{margin}]"
    return _ONE_LINE(value)


def errors_csv(scored: ScoredRun, bom: bool = False) -> str:
    """Return ``errors.csv``: one line per finding, then one per attempt that could not be scored.

    Columns ``provider, model, case_id, attempt, error_code, expected, actual, protocol, suite, lang,
    condition, reason``; ``attempt`` counts the repetitions from 1, as people do (the log's ``repetition``
    counts from 0). An attempt without a score has its status as code and how it stopped as ``actual``. No
    cell starts like a formula, nor would a part of it behind a semicolon (an apostrophe stands before it, as
    OWASP's "CSV injection" advises); numbers stay numbers. None holds a control or direction character:
    every line of the file is one record.

    Parameters
    ----------
    bom
        Begin with a byte order mark, without which some spreadsheets do not read a file as UTF-8.
    """
    text = io.StringIO("\ufeff" if bom else "")
    text.seek(0, io.SEEK_END)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*ERRORS, *ERRORS_BESIDE])
    for row in _error_rows(scored):
        writer.writerow([safe_cell(row[name]) for name in (*ERRORS, *ERRORS_BESIDE)])
    return text.getvalue()


def safe_cell(value: object) -> str:
    """Return a text that no spreadsheet evaluates and that stays on one line."""
    text = "" if value is None else str(value)
    text = text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}… ({len(text)} characters)"
    guarded = _LATER.sub(";'", f"'{text}" if _FORMULA.match(text) else text)
    guarded = text if _NUMBER.fullmatch(text) else guarded
    return guarded if guarded.isprintable() else "".join(map(_spelt, guarded))


def _spelt(character: str) -> str:
    hidden = unicodedata.category(character) in _HIDDEN
    return character.encode("unicode_escape").decode() if hidden else character


def _error_rows(scored: ScoredRun) -> Iterator[Mapping[str, object]]:
    findings = scored.findings.rename(columns={"repetition": "attempt", "code": "error_code"})
    unscored = scored.attempts[~scored.attempts["scored"]]
    unscored = unscored[[*GROUP, "case_id", "repetition", "status", "stop", "error"]].rename(
        columns={"repetition": "attempt", "status": "error_code", "stop": "actual", "error": "reason"}
    )
    for frame in (findings, unscored.assign(expected="")):
        frame = frame.assign(attempt=frame["attempt"] + 1)
        kept = frame[[*ERRORS, *ERRORS_BESIDE]]
        yield from records(kept.astype(object).where(kept.notna(), None))


def _worth_showing(frame: pd.DataFrame) -> pd.Series[bool]:
    """Of a breakdown: sizes, rates with a denominator, and the pass rate whether it has one or not."""
    rates = frame["metric"].isin([rate.name for rate in RATES]) & (frame["denominator"] > 0)
    return rates | frame["metric"].isin(["pass_rate", *SIZES])


def _figure(row: Mapping[str, JSON]) -> dict[str, JSON]:
    return {
        **{name: row[name] for name in FIGURE},
        "unit": row["unit"],
        # Only what is missing differs from itself.
        **{name: value for name in EXTRA if (value := row[name]) == value},
    }


def _stable(value: JSON) -> JSON:
    """Return a JSON value without NaN and without the digits in which two machines can differ."""
    if isinstance(value, dict):
        return {key: _stable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_stable(inner) for inner in value]
    if not isinstance(value, float):
        return value
    if value != value:
        return None
    if value.is_integer():
        return int(value)
    number = round(float(f"{value:.{DIGITS}g}"), 12)
    return int(number) if number.is_integer() else number


def _one(hashes: Mapping[str, str]) -> str:
    """Return the only hash, or the hash of them all."""
    distinct = set(hashes.values())
    return distinct.pop() if len(distinct) == 1 else sha256(dict(hashes))
