"""The lesson's own run: eight scenarios, two models side by side, with good and with bad descriptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from toolbench.course import layout
from toolbench.course.players import RETRIES, is_scripted
from toolbench.course.words import Words
from toolbench.domain.case import Case
from toolbench.domain.codes import CODES
from toolbench.domain.condition import BUILT_IN_CONDITIONS, Condition, Selection
from toolbench.domain.config import Config, ModelConfig
from toolbench.domain.record import Progress
from toolbench.domain.shipped import shipped
from toolbench.domain.suite import Suite
from toolbench.numbers import compare, select
from toolbench.running import run_matrix
from toolbench.showing import RunView, html, with_players
from toolbench.showing.html import Page

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
AUTO, BAD = "auto", "bad"
PATIENCE_SECONDS = 10
"""After that long without a reply the rest of a model's scenarios is not asked."""
GAINED, LOST = "only right", "only left"


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
    """Play every scenario with good and with bad descriptions and return the run."""
    config = Config(
        runs=tuple(models),
        baselines=(),
        suites=(suite.name,),
        cases=Selection(ids=scenarios(suite, lang), langs=[lang]),
        conditions=(BUILT_IN_CONDITIONS[AUTO], Condition(BAD, descriptions=BAD)),
        repetitions=1,
        retries={**RETRIES, "patience": PATIENCE_SECONDS},
        root=shipped(),
    )
    await run_matrix(config, [suite], output, on_attempt=on_attempt)
    return RunView(output)


def results_table(view: RunView, words: Words) -> pd.DataFrame:
    """Return scenario and expectation, and for every model: right or not, and which error."""
    frame = _attempts(view, AUTO)
    columns: dict[str, list[str]] = {
        words("column_scenario"): [_case(view, case).user_texts[0] for case in _cases(frame)],
        words("column_expected"): [_expected(_case(view, case), words) for case in _cases(frame)],
    }
    for player in view.models:
        marks = [_mark(frame, player, case, words) for case in _cases(frame)]
        columns[_label(view, player, words)] = [right for right, _ in marks]
        columns[words("column_error_of", player=player)] = [error for _, error in marks]
    return pd.DataFrame(columns)


def results_page(view: RunView, words: Words) -> Page:
    """The table scenario → model A → model B → right? → which error, and what its codes mean."""
    table = results_table(view, words)
    page = layout.table(table, words("results_caption")) + _meanings(table, words)
    return page + html.paragraph(words("results_few", cases=len(table)), "note")


def right_answers(view: RunView, player: str) -> int:
    """Return how many scenarios a model got right with good descriptions."""
    frame = _attempts(view, AUTO)
    return int(frame[frame["player"] == player]["passed"].fillna(False).astype(bool).sum())


def wording_page(view: RunView, words: Words) -> Page:
    """Good beside bad descriptions, scenario by scenario, and what changed for each model."""
    table = wording_table(view, words)
    shown = layout.table(table, words("wording_caption")) + html.bullets(wording_lines(view, words))
    return shown + _meanings(table, words)


def wording_table(view: RunView, words: Words) -> pd.DataFrame:
    """Return every scenario with good and with bad descriptions, a pair of columns a model."""
    frame = _attempts(view, AUTO)
    columns = {words("column_scenario"): [_case(view, case).user_texts[0] for case in _cases(frame)]}
    for player in view.models:
        for condition, key in ((AUTO, "good"), (BAD, "bad")):
            marks = [_mark(_attempts(view, condition), player, case, words) for case in _cases(frame)]
            columns[f"{player} · {words(key)}"] = [
                f"{right[:1]} {errors.partition(', ')[0]}".strip() for right, errors in marks
            ]
    return pd.DataFrame(columns)


def wording_lines(view: RunView, words: Words) -> list[str]:
    """Return one sentence a model: how many scenarios were right before and after, lost and gained."""
    if not all(_attempts(view, name)["scored"].any() for name in (AUTO, BAD)):
        return [words("run_nothing")]
    sides = [select(view.scored, name, condition=name) for name in (AUTO, BAD)]
    cases = with_players(view, compare.compare(sides[0], sides[1], ["condition"], ["pass_rate"])).cases
    lines = []
    for player in view.models:
        mine = cases[cases["player"] == player]
        good, bad = (int(mine[side].sum()) for side in ("left_passed", "right_passed"))
        lost, gained = (int((mine["outcome"] == outcome).sum()) for outcome in (LOST, GAINED))
        facts = {"good": good, "bad": bad, "total": len(mine), "lost": lost, "gained": gained}
        lines.append(words("wording_line", player=_label(view, player, words), **facts))
    return lines


def _attempts(view: RunView, condition: str) -> pd.DataFrame:
    return view.attempts[view.attempts["condition"] == condition]


def _cases(frame: pd.DataFrame) -> list[str]:
    return [str(case) for case in frame["case_id"].drop_duplicates()]


def _case(view: RunView, case_id: str) -> Case:
    (suite,) = view.suites.values()
    return next(case for case in suite.cases if case.id == case_id)


def _expected(case: Case, words: Words) -> str:
    """Return what is right: the calls in their order, an answer, or a question back."""
    calls = [call["tool"] for call in case.source["expect"].get("calls", ())]
    kinds = case.source["expect"]["kind"]
    if "tool_call" in kinds:
        together = case.source["expect"].get("parallel") == "required"
        return (" + " if together else " → ").join(calls)
    return words("expected_question" if kinds == "clarification" else "expected_text")


def _label(view: RunView, player: str, words: Words) -> str:
    """Return a model's name, and whether it is a real one or plays from a script."""
    names = {name: key for key, name in view.names.items()}
    return f"{player} ({words('scripted' if is_scripted(names[player].provider) else 'real')})"


def _meanings(table: pd.DataFrame, words: Words) -> Page:
    """Return what the codes in a table mean: those that are shown, and no others."""
    shown = set(" ".join(map(str, table.to_numpy().ravel())).replace(",", " ").split())
    rows = [(code, words.of(CODES[code].meaning)) for code in CODES if code in shown]
    if not rows:
        return html.EMPTY
    names = [words("column_code"), words("column_meaning")]
    return layout.table(pd.DataFrame(rows, columns=names), words("codes_caption"))


def _mark(frame: pd.DataFrame, player: str, case: str, words: Words) -> tuple[str, str]:
    """Return right or not, and what was found."""
    mine = frame[(frame["player"] == player) & (frame["case_id"] == case)]
    if not len(mine):
        return "–", ""
    row = mine.iloc[0]
    if not row["scored"]:
        return words("not_scored"), str(row["error"])
    if row["passed"]:
        return words("yes"), ""
    return words("no"), ", ".join(row["codes"]) or "?"
