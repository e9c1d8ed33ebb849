"""Results while they arrive: the grid of cases, a line for each column, the latest attempts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import pandas as pd

from toolbench.domain.plurals import plural
from toolbench.judging.counts import COUNT
from toolbench.numbers.flips import decided, modes
from toolbench.numbers.rows import of_models
from toolbench.numbers.tables import groups
from toolbench.showing import html
from toolbench.showing.html import Page

Only = Literal["all", "failing", "differing"]
FILTERS: tuple[str, ...] = get_args(Only)


@dataclass(frozen=True)
class Column:
    """A player under a condition."""

    player: str
    condition: str

    def __str__(self) -> str:
        return f"{self.player} · {self.condition}"


@dataclass(frozen=True)
class Cell:
    """A case in a column: attempts planned, made, scored (with a verdict) and passed, left to a person, what
    was found, and the usual decision.
    """

    planned: int
    made: int = 0
    scored: int = 0
    passed: int = 0
    review: int = 0
    codes: tuple[str, ...] = ()
    decision: str | None = None

    @property
    def share(self) -> float | None:
        """Share of the scored attempts that passed."""
        return self.passed / self.scored if self.scored else None

    @property
    def text(self) -> str:
        """``passed/scored``, ``1?`` left to a person, ``err`` without a score, ``…`` before any arrives."""
        told = [f"{self.passed}/{self.scored}"] if self.scored else []
        told += [f"{self.review}?"] if self.review else []
        if told:
            return " ".join(told)
        if self.made:
            return "err"
        return "…" if self.planned else "–"

    @property
    def failing(self) -> bool:
        """Whether an attempt failed or could not be scored."""
        return self.made > 0 and self.passed < self.made


@dataclass(frozen=True)
class Grid:
    """Cases by columns."""

    cases: tuple[str, ...]
    columns: tuple[Column, ...]
    cells: Mapping[tuple[str, Column], Cell]

    def row(self, case: str) -> list[Cell]:
        """Return a case's cells from left to right."""
        return [self.cells[case, column] for column in self.columns]


def grid(attempts: pd.DataFrame, planned: pd.DataFrame, only: str = "all") -> Grid:
    """Arrange a run as cases by columns.

    Parameters
    ----------
    attempts, planned
        One row an attempt made, and one an attempt to be made, both with a ``player`` column.
    only
        ``all``; ``failing``: cases of which an attempt failed or was not scored; ``differing``: cases in
        which one player passes otherwise, or decides otherwise, under two conditions.

    Notes
    -----
    Models stand before baselines; else the order is that of the plan, so that nothing moves while results
    arrive.
    """
    keys = ["case_id", "player", "condition"]
    made = dict(groups(attempts, keys))
    expected: dict[Any, int] = planned.groupby(keys, sort=False).size().to_dict()
    cases = [str(case) for case in dict.fromkeys(planned["case_id"])]
    models_first = planned.loc[(~of_models(planned)).sort_values(kind="stable").index]
    pairs = models_first[["player", "condition"]].drop_duplicates().itertuples(index=False, name=None)
    columns = tuple(Column(str(player), str(condition)) for player, condition in pairs)
    cells = {
        (case, column): _cell(
            expected.get((case, column.player, column.condition), 0),
            made.get((case, column.player, column.condition)),
        )
        for case in cases
        for column in columns
    }
    whole = Grid(tuple(cases), columns, cells)
    return Grid(tuple(case for case in cases if _shown(whole, case, only)), columns, cells)


def _cell(planned: int, rows: pd.DataFrame | None) -> Cell:
    if rows is None:
        return Cell(planned)
    codes = dict.fromkeys(code for found in rows["codes"] for code in found)
    scored = decided(rows)
    usual = modes(scored).iloc[0] if len(scored) else None
    left = int(scored[COUNT.review].sum())
    passed = int(scored["passed"].sum())
    return Cell(planned, len(rows), len(scored) - left, passed, left, tuple(codes), usual)


def _shown(grid: Grid, case: str, only: str) -> bool:
    if only == "failing":
        return any(cell.failing for cell in grid.row(case))
    if only == "differing":
        # Two players differ in almost everything: what is looked for is what a wording does to one of them.
        # A column that has not been played says nothing about a difference.
        ways: dict[str, set[object]] = {}
        for column in grid.columns:
            cell = grid.cells[case, column]
            if cell.made:
                ways.setdefault(column.player, set()).add(
                    (cell.share, cell.made > cell.scored, cell.review > 0, cell.decision)
                )
        return any(len(found) > 1 for found in ways.values())
    return True


def summary(attempts: pd.DataFrame, planned: pd.DataFrame) -> pd.DataFrame:
    """Return one row a column: attempts, passes, what was not scored, most frequent findings, time, cost."""
    made = dict(groups(attempts, ["player", "condition"]))
    rows = []
    for (player, condition), wanted in groups(planned, ["player", "condition"]):
        mine = made.get((player, condition))
        row = {"player": player, "condition": condition, "attempts": f"0/{len(wanted)}"}
        rows.append(row | (_figures(mine, len(wanted)) if mine is not None else {}))
    names = ["player", "condition", "attempts", "passed", "to review", "not scored", "median ms"]
    names += ["cost", "findings"]
    return pd.DataFrame(rows, columns=names).astype(object)


def _figures(mine: pd.DataFrame, planned: int) -> dict[str, object]:
    scored = mine[mine["scored"].astype(bool)]
    left = int(scored[COUNT.review].sum())
    codes = pd.Series([code for found in mine["codes"] for code in found], dtype=object).value_counts()
    priced = mine["cost"].notna().all()
    return {
        "attempts": f"{len(mine)}/{planned}",
        "passed": f"{int(scored['passed'].sum())}/{len(scored) - left}",
        "to review": left,
        "not scored": len(mine) - len(scored),
        "findings": ", ".join(f"{code} {number}" for code, number in codes.head(3).items()) or None,
        "median ms": f"{scored['latency_ms'].median():.0f}" if len(scored) else None,
        "cost": f"{mine['cost'].sum():.4f} {mine['currency'].iloc[0]}" if priced else None,
    }


def latest(attempts: pd.DataFrame, limit: int = 30) -> pd.DataFrame:
    """Return the attempts that arrived last, newest first, as they are shown."""
    rows = attempts.iloc[::-1].head(limit)
    return pd.DataFrame(
        {
            "case": rows["case_id"],
            "player": rows["player"],
            "condition": rows["condition"],
            "repetition": rows["repetition"] + 1,
            "result": [
                _result(*row)
                for row in zip(
                    rows["scored"], rows["passed"], rows[COUNT.review], rows["status"], strict=True
                )
            ],
            "first decision": rows["kind"],
            "findings or error": [
                ", ".join(codes) or (None if pd.isna(error) else error)
                for codes, error in zip(rows["codes"], rows["error"], strict=True)
            ],
            "answer": [None if pd.isna(answer) else str(answer)[:120] for answer in rows["answer"]],
        }
    ).astype(object)


def _result(scored: bool, passed: float, review: float, status: str) -> str:
    return status if not scored else "to review" if review else "passed" if passed else "failed"


def summary_page(attempts: pd.DataFrame, planned: pd.DataFrame) -> Page:
    """Return the summary as a table."""
    return html.table(
        summary(attempts, planned),
        "Figures so far",
        numbers=["attempts", "passed", "to review", "not scored", "median ms"],
    )


def latest_page(attempts: pd.DataFrame, limit: int = 30) -> Page:
    """Return the latest attempts as a table."""
    return html.table(
        latest(attempts, limit), f"Latest {min(limit, len(attempts))} of {plural(len(attempts), 'attempt')}"
    )
