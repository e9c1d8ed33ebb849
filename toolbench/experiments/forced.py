"""What is left when the decision is taken away? Forced against automatic choice, side by side, never merged.

Only cases in which a call is right can be forced; a forced choice then shows whether a player that stays
silent knows the arguments, and what one that lacks them makes up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from toolbench.domain.condition import BUILT_IN_CONDITIONS
from toolbench.domain.keys import AttemptKey
from toolbench.domain.plurals import plural
from toolbench.experiments import charts
from toolbench.experiments.answering import answer
from toolbench.experiments.effects import condition_effects, effect_table
from toolbench.experiments.run_source import Setup, pair, places, subjects, under
from toolbench.numbers.comparison import Comparison
from toolbench.showing import html
from toolbench.showing.comparison import case_table
from toolbench.showing.format import each, fraction
from toolbench.showing.html import Page
from toolbench.showing.view import Arm, RunView, attempt_key

METRICS = (
    "pass_rate",
    "tool_selection_accuracy",
    "raw_schema_validity",
    "exact_argument_accuracy",
    "normalized_argument_accuracy",
)
OUTCOMES = (
    "exact",
    "as good",
    "other value",
    "invented value",
    "call missing",
    "other tool",
    "not valid",
    "no call",
)
"""What an attempt's calls look like, the worst of them deciding; ``as good`` is right after normalisation."""
RIGHT = ("exact", "as good")


def plan() -> Setup:
    """Return the plan to play automatic and forced choice."""
    return under(BUILT_IN_CONDITIONS["auto"], BUILT_IN_CONDITIONS["forced"])


def conditions(view: RunView) -> tuple[str, str]:
    """Return the names of the automatic and of the forced condition.

    Raises
    ------
    Refusal
        When the run does not have both.
    """
    return pair(view, "tool_choice", "auto", "required")


def paired(view: RunView) -> Comparison:
    """Compare both on the cases that need a call."""
    auto, forced = conditions(view)
    return condition_effects(view, auto, [forced], METRICS)


def outcomes(view: RunView) -> pd.DataFrame:
    """Return the scored attempts of cases that can be forced, with ``mode`` and ``outcome``.

    ``mode`` is ``auto`` or ``forced``; ``outcome`` one of :data:`OUTCOMES`.
    """
    names = dict(zip(conditions(view), ("auto", "forced"), strict=True))
    attempts = view.attempts[view.attempts["condition"].isin(names) & view.attempts["scored"].astype(bool)]
    keys = ["suite", "lang", "case_id"]
    forced = attempts.loc[attempts["condition"] == list(names)[1], keys].drop_duplicates()
    attempts = attempts.merge(forced, on=keys)
    calls: dict[AttemptKey, list[Any]] = {}
    for _, call in view.calls[view.calls["condition"].isin(names)].iterrows():
        calls.setdefault(attempt_key(call), []).append(call)
    found = [_outcome(row, calls.get(attempt_key(row), [])) for _, row in attempts.iterrows()]
    return attempts.assign(mode=attempts["condition"].map(names), outcome=found)


def _outcome(attempt: pd.Series[Any], calls: list[Any]) -> str:
    if not calls:
        return "no call"
    if any(call["tier"] != "raw_valid" for call in calls):
        return "not valid"
    if any("ungrounded_argument" in call["codes"] for call in calls):
        return "invented value"
    expected = [call for call in calls if call["role"] == "expected"]
    if not expected:
        return "other tool"
    if attempt["missing_tools"]:
        return "call missing"
    if not all(call["normalized"] for call in expected):
        return "other value"
    return "exact" if all(call["exact"] for call in expected) else "as good"


def honoured(view: RunView) -> pd.DataFrame:
    """Return what became of the forced choice: ``player, suite, lang, planned, unsupported, failed, called``.

    ``called`` of ``scored`` attempts made a call in their first reply; ``asked``, ``sent`` are the settings
    of the first request.
    """
    _, forced = conditions(view)
    sent: dict[tuple[str, str, str], set[str]] = {}
    for attempt in view.all_records():
        if attempt.condition == forced and attempt.turns:
            choice = attempt.turns[0].settings.get("tool_choice", {}).get("sent")
            name = view.names[attempt.key.player]
            sent.setdefault((name, attempt.suite, attempt.lang), set()).add(str(choice))
    rows = []
    for suite, lang in places(view, [forced]):
        arm = view.at(view.attempts, Arm(suite, lang, forced))
        for player in view.players:
            mine = arm[arm["player"] == player]
            scored = mine[mine["scored"].astype(bool)]
            rows.append(
                {
                    "player": player,
                    "suite": suite,
                    "lang": lang,
                    "attempts": len(mine),
                    "unsupported": int((mine["status"] == "unsupported").sum()),
                    "failed": int((mine["status"] == "transport_error").sum()),
                    "scored": len(scored),
                    "called": int((scored["kind"] == "tool_call").sum()),
                    "sent": ", ".join(sorted(sent.get((player, suite, lang), {"nothing"}))),
                }
            )
    return pd.DataFrame(rows)


def honoured_page(view: RunView) -> Page:
    """Whether forcing worked at all: a provider that ignores it makes every other figure meaningless."""
    table = honoured(view)
    shown = table.assign(called=[fraction(r.called, r.scored) for r in each(table)])
    numbers = ["attempts", "unsupported", "failed", "scored", "called"]
    return html.table(shown, "Forced attempts, and those that made a call", numbers=numbers)


def outcomes_page(view: RunView) -> Page:
    """One bar a player and mode: what the calls look like."""
    table = outcomes(view)
    pages = []
    for (suite, lang), rows in table.groupby(["suite", "lang"], sort=False):
        counts = pd.DataFrame(_bars(rows, view.players))
        title = f"{suite} · {lang}: calls on cases that need one, automatic and forced"
        words = "; ".join(
            f"{bar['label']}: " + ", ".join(f"{name} {bar[name]}" for name in OUTCOMES if bar[name])
            for bar in counts.to_dict("records")
        )
        pages.append(html.figure(charts.stacked(counts, OUTCOMES), f"{title}. {words}", title))
    return html.join(pages)


def _bars(rows: pd.DataFrame, players: list[str]) -> Iterator[dict[str, Any]]:
    for player in players:
        for mode in ("auto", "forced"):
            mine = rows[(rows["player"] == player) & (rows["mode"] == mode)]["outcome"]
            yield {"label": f"{player} · {mode}", **{name: int((mine == name).sum()) for name in OUTCOMES}}


def decision_or_knowledge(view: RunView) -> pd.DataFrame:
    """Return number of cases by where the right call was made.

    ``both``; ``only forced``: the arguments are known, the decision is the problem; ``only auto``: forcing
    spoils it; ``neither``: the knowledge is missing. A case is right when more than half of its scored
    repetitions make the right call.
    """
    table = outcomes(view)
    right = table.assign(right=table["outcome"].isin(RIGHT))
    keys = ["player", "suite", "lang"]
    share = right.groupby([*keys, "case_id", "mode"], sort=False)["right"].mean().unstack("mode").dropna()
    auto, forced = share["auto"] > 0.5, share["forced"] > 0.5
    counts = pd.DataFrame(
        {
            "cases": 1,
            "both": auto & forced,
            "only forced": ~auto & forced,
            "only auto": auto & ~forced,
            "neither": ~auto & ~forced,
        }
    )
    return counts.groupby(level=keys, sort=False).sum().reset_index()


def decision_or_knowledge_page(view: RunView) -> Page:
    """Decision problem or knowledge problem?"""
    table = decision_or_knowledge(view)
    caption = "Cases in which the right call is made, by mode"
    return html.table(table, caption, numbers=list(table.columns[3:]))


def paired_page(view: RunView) -> Page:
    """The paired differences, and the cases that change."""
    found = paired(view)
    pages = [effect_table(found, "automatic → forced choice, on the same cases")]
    pages += [case_table(found.newly_failing, "Fails only when forced")]
    return html.join([*pages, case_table(found.newly_passing, "Passes only when forced")])


def examples_page(view: RunView, each: int = 2) -> Page:
    """Arguments of forced calls where the same player, left alone, made no call: a few a player, as sent."""
    table = outcomes(view)
    silent = table[(table["mode"] == "auto") & (table["outcome"] == "no call")]
    quiet = set(zip(silent["player"], silent["suite"], silent["lang"], silent["case_id"], strict=True))
    made = table[table["mode"] == "forced"].set_index(["player", "suite", "lang", "case_id", "repetition"])
    calls = view.calls[view.calls["condition"] == conditions(view)[1]]
    rows: list[dict[str, Any]] = []
    for _, call in calls.iterrows():
        where = (call["player"], call["suite"], call["lang"], call["case_id"])
        key = (*where, call["repetition"])
        taken = sum(row["player"] == call["player"] for row in rows)
        if where in quiet and key in made.index and taken < each and call["player"] in subjects(view):
            outcome = made.loc[key, "outcome"]
            cells = {"player": where[0], "language": where[2], "case": where[3], "outcome": outcome}
            rows.append({**cells, "call": f"{call['tool']}({call['raw_arguments']})"})
    if not rows:
        return html.paragraph("No player was silent where it then had to call.", "note")
    return html.table(pd.DataFrame(rows), "Forced calls of players that would have said nothing")


def answer_page(view: RunView) -> Page:
    """Is it the decision that is missing, or the knowledge?"""
    lines = ["Is it the decision that is missing, or the knowledge?"]
    table = decision_or_knowledge(view)
    for _, row in table[table["player"].isin(subjects(view))].iterrows():
        more = "the decision" if row["only forced"] > row["neither"] else "the knowledge"
        missed = int(row["only forced"] + row["neither"])
        verdict = (
            f"mostly {more}"
            if missed and row["only forced"] != row["neither"]
            else "neither more than the other"
        )
        where = f"{row['player']}, {row['suite']} {row['lang']}"
        lines.append(
            f"{where}: of {plural(row['cases'], 'case')} right in both modes {row['both']}, "
            f"only when forced {row['only forced']}, in neither {row['neither']}, "
            f"only when left alone {row['only auto']}; "
            + (f"what is missing is {verdict}." if missed else "nothing is missing.")
        )
    return answer(lines if len(lines) > 1 else [*lines, "No case was scored in both modes."])
