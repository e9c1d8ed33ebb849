"""What does a player do when a tool fails? By error code, with and without a hint in the error text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from toolbench.domain.condition import BUILT_IN_CONDITIONS
from toolbench.domain.config import Config
from toolbench.domain.record import Attempt
from toolbench.domain.suite import Suite
from toolbench.experiments import charts
from toolbench.experiments.answering import answer, effect_answer
from toolbench.experiments.effects import condition_effects, effect_table
from toolbench.experiments.injection import inject, split
from toolbench.experiments.run_source import Refusal, Setup, pair, subjects
from toolbench.judging.counts import COUNT
from toolbench.numbers.comparison import Comparison
from toolbench.numbers.tables import share_of
from toolbench.showing import html
from toolbench.showing.comparison import case_table
from toolbench.showing.format import each, fraction, percent
from toolbench.showing.html import Page
from toolbench.showing.view import RunView, attempt_key

METRICS = ("error_recovery_accuracy",)
NONE = "none"
MODES = ("with a hint", "without")


def plan(faults: Sequence[str] = ()) -> Setup:
    """Return the plan to play errors with and without a hint.

    Parameters
    ----------
    faults
        Names from ``faults.json``: each is injected into a copy of every suite. Empty plays the errors that
        the suites' own scripts have.
    """
    conditions = (BUILT_IN_CONDITIONS["auto"], BUILT_IN_CONDITIONS["no_hints"])

    def made(config: Config, suites: Sequence[Suite]) -> tuple[Config, list[Suite]]:
        failing = [inject(suite, fault) for suite in suites for fault in faults]
        own = [suite.keep(case for case in suite.cases if case.expect.recovery) for suite in suites]
        return replace(config, conditions=conditions), failing if faults else own

    return made


def conditions(view: RunView) -> tuple[str, str]:
    """Return the names of the conditions with and without hints.

    Raises
    ------
    Refusal
        When the run does not have both.
    """
    return pair(view, "error_hints", True, False)


def met(view: RunView) -> pd.DataFrame:
    """Return all attempts that met a tool's error, with ``mode``, ``error_code``, ``base`` and ``fault``.

    ``error_code`` is the code of the last error; ``base`` and ``fault`` are the suite's own name and the
    fault injected into it.
    """
    names = dict(zip(conditions(view), MODES, strict=True))
    codes = {record.key: _last_error(record) for record in view.all_records() if record.condition in names}
    kept = view.attempts[view.attempts["condition"].isin(names)]
    parts = [split(str(suite)) for suite in kept["suite"]]
    made = kept.assign(
        mode=kept["condition"].map(names),
        error_code=[codes[attempt_key(row)] for _, row in kept.iterrows()],
        base=[name for name, _ in parts],
        fault=[fault for _, fault in parts],
    )
    return made[made["error_code"] != NONE]


def recoveries(view: RunView) -> pd.DataFrame:
    """Return the attempts of :func:`met` in which an answer followed the error, with ``right``."""
    return _answered(met(view))


def _answered(attempts: pd.DataFrame) -> pd.DataFrame:
    made = attempts[attempts[COUNT.recoveries] > 0]
    return made.assign(right=made[COUNT.recoveries_right] == made[COUNT.recoveries])


def _last_error(attempt: Attempt) -> str:
    """Return the code of the last failed call that the tool itself (not the validation) answered."""
    for call in reversed(attempt.calls):
        if call.result is not None and call.result.is_error and call.rejection is None:
            return str(call.result.code)
    return NONE


def by_code(view: RunView) -> pd.DataFrame:
    """Return ``player, suite, lang, error_code, mode, right, answers, value, low, high, text``.

    ``value`` is the share of right answers after that error with its case-clustered 95 % interval; ``text``
    is ``k/n``, ``err`` where every attempt failed at the provider, or ``–``. Every code has a row for both
    modes. ``suite`` is without the name of an injected fault.

    Raises
    ------
    Refusal
        When no answer followed an error.
    """
    everything = met(view)
    if _answered(everything).empty:
        raise Refusal(
            f"run {view.header.run_id}: no answer followed a tool's error, so there is nothing to show"
        )
    rows = []
    for (suite, lang), place in everything.groupby(["base", "lang"], sort=False):
        for player in view.players:
            for code in place["error_code"].unique():
                for mode in MODES:
                    mine = place[
                        (place["player"] == player) & (place["error_code"] == code) & (place["mode"] == mode)
                    ]
                    where = {"player": player, "suite": suite, "lang": lang, "error_code": code, "mode": mode}
                    rows.append({**where, **_share(mine)})
    return pd.DataFrame(rows)


def _share(mine: pd.DataFrame) -> dict[str, Any]:
    found = share_of(_answered(mine), "right", ["base", "scenario"])
    right, answers = found["numerator"], found["denominator"]
    failed = len(mine) and not mine["scored"].any()
    return {
        "right": right,
        "answers": answers,
        "value": found["value"],
        "low": found["ci_low"],
        "high": found["ci_high"],
        "text": f"{right}/{answers}" if answers else "err" if failed else "–",
    }


def by_code_page(view: RunView) -> Page:
    """One figure a player: recovery by error code, with and without a hint; a table of everybody."""
    table = by_code(view)
    pages = []
    for (suite, lang), place in table.groupby(["suite", "lang"], sort=False):
        for player in subjects(view):
            mine = place[place["player"] == player].assign(label=place["error_code"], series=place["mode"])
            title = f"{suite} · {lang}, {player}: right answers after an error"
            words = "; ".join(f"{r.label} {r.series} {r.text}" for r in each(mine))
            fig = charts.dots(mine, MODES, "share of answers after the error that are right", (-0.03, 1.03))
            pages.append(html.figure(fig, f"{title}. {words}", title))
        cells = place.assign(cell=[fraction(row.right, row.answers) for row in each(place)])
        shown = cells.pivot(index=["error_code", "mode"], columns="player", values="cell")
        shown = shown.reindex(columns=view.players).reset_index()
        pages.append(html.table(shown, f"{suite} · {lang}: right after an error", numbers=view.players))
    return html.join(pages)


def paired(view: RunView) -> Comparison:
    """Compare answers after an error with and without a hint, on the same cases."""
    with_hint, without = conditions(view)
    return condition_effects(view, with_hint, [without], METRICS)


def paired_page(view: RunView) -> Page:
    """The paired effect of the hint, and the cases it decides."""
    found = paired(view)
    pages = [effect_table(found, "right after an error, with a hint → without, on the same cases")]
    pages.append(case_table(found.newly_failing, "Fails without the hint"))
    return html.join([*pages, case_table(found.newly_passing, "Passes only without the hint")])


def reactions(view: RunView) -> pd.DataFrame:
    """Return finding code × player: attempts after an error with each finding, and those without any."""
    table = recoveries(view)
    rows = [
        {"mode": row.mode, "player": row.player, "finding": code}
        for row in each(table)
        for code in (row.codes or ("none",))
    ]
    counts = pd.crosstab(
        [pd.Series([r["finding"] for r in rows]), pd.Series([r["mode"] for r in rows])],
        pd.Series([r["player"] for r in rows]),
    )
    counts.index.names = ["finding", "mode"]
    return counts.reindex(columns=view.players, fill_value=0).reset_index()


def reactions_page(view: RunView) -> Page:
    """How answers after an error go wrong."""
    table = reactions(view)
    share = recoveries(view).groupby("player")["right"].mean()
    words = "; ".join(f"{player} {percent(value)}" for player, value in share.items())
    shown = html.table(table, "Attempts after an error, by finding", numbers=view.players)
    return shown + html.paragraph(f"Right in all: {words}.", "note")


def answer_page(view: RunView) -> Page:
    """What happens after an error, where it goes wrong most often, and whether the hint helps."""
    table, lines = by_code(view), ["What does a model do when a tool fails?"]
    for player in subjects(view):
        mine = table[(table["player"] == player) & (table["answers"] > 0)]
        if mine.empty:
            continue
        right, answers = int(mine["right"].sum()), int(mine["answers"].sum())
        told = f"{player}: {fraction(right, answers)} answers after an error are right"
        if right < answers:
            sums = mine.groupby("error_code", sort=False)[["right", "answers"]].sum()
            code = str((sums["right"] / sums["answers"]).idxmin())
            low = dict(sums.loc[code])
            told += f"; the hardest is {code} ({fraction(int(low['right']), int(low['answers']))})"
        lines.append(f"{told}.")
    return answer(lines) + effect_answer(paired(view), "Does the hint help?", METRICS[0])
