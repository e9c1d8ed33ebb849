"""The lesson's own small run, and its table: scenario, model, right or not, and which error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from toolbench.course.words import Words
from toolbench.domain.codes import CODES
from toolbench.domain.config import BUILT_IN_CONDITIONS, Condition, Config, ModelConfig, Selection
from toolbench.domain.record import Progress
from toolbench.domain.shipped import shipped
from toolbench.domain.suite import Suite
from toolbench.numbers.compare import DIFFERING, compare
from toolbench.numbers.sides import select
from toolbench.running.runner import run_matrix
from toolbench.showing import html
from toolbench.showing.comparison import with_players
from toolbench.showing.html import Page
from toolbench.showing.view import RunView

CLASSES = (
    "percent_of_number",
    "exchange_rate",
    "time_in_city",
    "two_cities",
    "rate_then_calculate",
    "no_tool_needed",
    "missing_data",
    "upstream_failure",
)
"""The first core case of each is played."""
REWORDED = CLASSES[:4]
"""What is played with bad descriptions as well: a small model takes its time."""
BASELINES = ("always_first_tool", "keyword_router")
AUTO, BAD = "auto", "bad"


def scenarios(suite: Suite, lang: str, classes: Sequence[str] = CLASSES) -> list[str]:
    """Return the ids of the cases that the lesson plays, one a class."""
    first: dict[str, str] = {}
    for case in suite.cases:
        if case.lang == lang and "core" in case.tags:
            first.setdefault(case.klass, case.id)
    return [first[name] for name in classes if name in first]


async def play(
    suite: Suite,
    lang: str,
    models: Sequence[ModelConfig],
    output: Path,
    on_attempt: Callable[[Progress], None] | None = None,
) -> RunView:
    """Play the scenarios with good and with bad descriptions and return the run."""
    reworded = Selection(ids=scenarios(suite, lang, REWORDED))
    config = Config(
        runs=tuple(models),
        baselines=BASELINES,
        suites=(suite.name,),
        cases=Selection(ids=scenarios(suite, lang), langs=[lang]),
        conditions=(BUILT_IN_CONDITIONS[AUTO], Condition(BAD, descriptions=BAD, cases=reworded)),
        repetitions=1,
        root=shipped(),
    )
    await run_matrix(config, [suite], output, on_attempt=on_attempt)
    return RunView(output)


def overview_page(view: RunView, words: Words) -> Page:
    """Scenario × player with good descriptions: a tick, or the code of the first error."""
    frame = _attempts(view, AUTO)
    columns: dict[str, list[str]] = {
        words("column_scenario"): [_question(view, case) for case in _cases(frame)]
    }
    for player in view.players:
        mine = frame[frame["player"] == player].set_index("case_id")
        columns[player] = [_mark(mine, case, words) for case in _cases(frame)]
    few = html.paragraph(words("results_few", cases=len(_cases(frame))), "note")
    return html.table(pd.DataFrame(columns), words("results_overview")) + few


def results_table(view: RunView, words: Words) -> pd.DataFrame:
    """Return scenario, model, right, error and reason for every attempt of a model (not of a baseline)."""
    frame = _attempts(view, AUTO)
    rows = [
        (
            _question(view, str(row["case_id"])),
            row["player"],
            _right(row, words),
            (row["codes"] or ("",))[0] if row["scored"] else row["error"],
            _reason(view, row),
        )
        for case in _cases(frame)
        for _, row in frame[(frame["case_id"] == case) & frame["player"].isin(view.models)].iterrows()
    ]
    names = ("scenario", "player", "right", "error", "reason")
    return pd.DataFrame(rows, columns=[words(f"column_{name}") for name in names])


def results_page(view: RunView, words: Words) -> Page:
    """The table scenario → model → right? → which error, and what its codes mean."""
    table = results_table(view, words)
    codes = sorted({str(code) for code in table[words("column_error")] if code} & set(CODES))
    meanings = pd.DataFrame(
        [(code, words.of(CODES[code].meaning)) for code in codes],
        columns=[words("column_code"), words("column_meaning")],
    )
    page = html.table(table, words("results_caption"))
    return page + html.table(meanings, words("codes_caption")) if codes else page


def wording_page(view: RunView, words: Words) -> Page:
    """How many scenarios each player passes with good and with bad descriptions, and which ones changed."""
    sides = [select(view.scored, name, condition=name) for name in (AUTO, BAD)]
    cases = with_players(view, compare(sides[0], sides[1], ["condition"], ["pass_rate"])).cases
    order = {case: place for place, case in enumerate(_cases(_attempts(view, AUTO)))}
    rows = []
    for player in view.players:
        mine = cases[cases["player"] == player].sort_values("case_id", key=lambda ids: ids.map(order))
        counts = [f"{int(mine[side].sum())}/{len(mine)}" for side in ("left_passed", "right_passed")]
        changed = mine.loc[mine["outcome"].isin(DIFFERING), "case_id"]
        rows.append((player, *counts, "; ".join(_question(view, str(case)) for case in changed) or "—"))
    names = ("player", "good", "bad", "changed")
    return html.table(pd.DataFrame(rows, columns=[words(f"column_{name}") for name in names]))


def _attempts(view: RunView, condition: str) -> pd.DataFrame:
    return view.attempts[view.attempts["condition"] == condition]


def _cases(frame: pd.DataFrame) -> list[str]:
    return [str(case) for case in frame["case_id"].drop_duplicates()]


def _question(view: RunView, case_id: str) -> str:
    """Return what the user asks in a case."""
    (suite,) = view.suites.values()
    return next(case.user_texts[0] for case in suite.cases if case.id == case_id)


def _right(row: pd.Series, words: Words) -> str:
    if not row["scored"]:
        return words("not_scored")
    return words("yes" if row["passed"] else "no")


def _mark(mine: pd.DataFrame, case: str, words: Words) -> str:
    if case not in mine.index:
        return "–"
    row = mine.loc[case]
    if not row["scored"]:
        return words("not_scored")
    return "✔" if row["passed"] else f"✘ {(row['codes'] or ('?',))[0]}"


def _reason(view: RunView, row: pd.Series) -> str:
    found = view.findings
    for name in ("player", "condition", "case_id", "repetition"):
        found = found[found[name] == row[name]]
    return str(found["reason"].iloc[0]) if len(found) else ""
