"""Files of a run for elsewhere: its attempts as a table, and its report."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd

from toolbench.domain.files import write_text_atomic
from toolbench.errors import LogError
from toolbench.numbers.outputs import safe_cell
from toolbench.numbers.tables import records

CSV_NAME = "attempts.csv"
COLUMNS = (
    "player",
    "provider",
    "model",
    "protocol",
    "suite",
    "lang",
    "condition",
    "case_id",
    "case_class",
    "repetition",
    "status",
    "scored",
    "passed",
    "kind",
    "codes",
    "latency_ms",
    "input_tokens",
    "output_tokens",
    "cost",
    "currency",
    "answer",
)


def attempts_csv(attempts: pd.DataFrame) -> str:
    """Return one line an attempt, in the columns :data:`COLUMNS`; ``codes`` are separated by blanks.

    No cell is taken for a formula, and every line is one record.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    kept = attempts.assign(codes=[" ".join(codes) for codes in attempts["codes"]])[list(COLUMNS)].astype(
        object
    )
    for row in records(kept.where(kept.notna(), None)):
        writer.writerow([safe_cell(row[name]) for name in COLUMNS])
    return text.getvalue()


def write_attempts(run: Path, attempts: pd.DataFrame) -> Path:
    """Write the attempts into the run's folder and return the file."""
    path = run / CSV_NAME
    write_text_atomic(path, attempts_csv(attempts), LogError)
    return path
