"""The parts of a report, each a pure function from a :class:`RunView` to a :class:`Page`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd

from toolbench.domain.codes import CODES
from toolbench.domain.record import Attempt
from toolbench.errors import InputError
from toolbench.numbers.cautions import cautions
from toolbench.numbers.choice import pareto
from toolbench.numbers.compare import Comparison, compare
from toolbench.numbers.flips import excess
from toolbench.numbers.gates import evaluate
from toolbench.numbers.sequence import LABEL, Rule, path_of, stops
from toolbench.numbers.sides import select
from toolbench.numbers.signature import signature
from toolbench.numbers.tables import groups
from toolbench.showing import html, plots
from toolbench.showing.comparison import effect_table, flip_cells, with_players
from toolbench.showing.format import NAMES, each, money, percent, share
from toolbench.showing.html import Page
from toolbench.showing.view import Arm, RunView, attempt_key

MAIN_METRICS = (
    "pass_rate",
    "decision_accuracy",
    "tool_selection_accuracy",
    "raw_schema_validity",
    "exact_argument_accuracy",
    "unsafe_call_rate",
    "clarification_rate",
    "error_recovery_accuracy",
    "final_answer_support",
    "completion_rate",
)


def summary(view: RunView) -> Page:
    """What was compared, on what and when; INCOMPLETE comes first when anything is missing."""
    header = view.header
    pages = [html.paragraph(view.incomplete, "warning")] if view.incomplete else []
    pages += [html.paragraph(str(problem), "note") for problem in view.scored.problems[:5]]
    pages.append(html.heading(f"Run {header.run_id}", 1))
    models = ", ".join(view.models) or "baselines only"
    cases = sum(len(suite["cases"]) for suite in header.suites)
    facts = {
        "models": models,
        "suites": ", ".join(f"{s['name']} ({s['contract']['version']})" for s in header.suites),
        "cases": f"{cases} in all languages",
        "conditions": ", ".join(condition["name"] for condition in header.conditions),
        "attempts": f"{len(view.attempts)} of {len(view.scored.planned)} planned",
        "started": header.started_at,
        "commit": header.git_commit or "unknown",
        "versions": ", ".join(f"{name} {version}" for name, version in header.versions.items()),
        **{name: label for name, label in header.labels.items() if name != LABEL},
    }
    pages.append(html.table(pd.DataFrame({"": list(facts), "value": [str(v) for v in facts.values()]})))
    reading = (
        "No single number ranks these models. Every verdict is a rule that names the violated condition; "
        "languages and conditions are never merged; provider errors are counted apart from the model's."
    )
    return html.join([*pages, html.paragraph(reading), looks(view)])


def looks(view: RunView) -> Page:
    """The rule that a sequential run was to end by, its interval after every round, and what that saved."""
    if LABEL not in view.header.labels:
        return html.EMPTY
    rule = Rule.parse(view.header.labels[LABEL])
    path = path_of(view.scored, rule)
    why = stops(rule, path) if path else None
    rows = [
        {"round": number, "difference [95 %, at every look]": f"{100 * low:+.0f} … {100 * high:+.0f}"}
        for number, (low, high) in enumerate(path, 1)
    ]
    narrow = f" or the interval is at most {100 * rule.width:.0f} points wide" if rule.width else ""
    text = (
        f"Played round by round until {rule.left} and {rule.right} differ{narrow}, at most {rule.budget} "
        f"rounds; ended after {len(path)}: {why or 'before the rule did'}; {rule.budget - len(path)} rounds "
        "were saved."
    )
    return html.paragraph(text) + html.table(pd.DataFrame(rows), "After every round, in points")


def metric_table(view: RunView, arm: Arm) -> Page:
    """Main metrics of one arm: a row a metric, a column a player, ``share (k/n) [interval]`` in a cell."""
    table = view.at(view.metrics, arm)
    players = [player for player in view.players if figures(table, player)]
    columns: dict[str, list[str]] = {
        "": ["scored / planned", "transport errors", *(NAMES[name] for name in MAIN_METRICS), "median ms"]
    }
    for player in players:
        mine = figures(table, player)
        latency = mine["latency_p50"]["value"]
        columns[player] = [
            f"{mine['scored']['value']:.0f} / {mine['planned']['value']:.0f}",
            f"{mine['transport_errors']['value']:.0f}",
            *(share(mine[name]) for name in MAIN_METRICS),
            "–" if pd.isna(latency) else f"{latency:.0f}",
        ]
    caption = f"{arm}: share, numerator/denominator, 95 % interval"
    where = {"suite": arm.suite, "lang": arm.lang, "condition": arm.condition}
    line = html.paragraph(str(signature(view.header, where, view.suites)), "signature")
    return html.table(pd.DataFrame(columns), caption, numbers=players) + line


def figures(table: pd.DataFrame, player: str) -> dict[str, dict[str, Any]]:
    """Return metric → its row for one player of one arm; empty when the player is not in it."""
    mine = table[table["player"] == player]
    rows: list[dict[str, Any]] = mine.to_dict("records")  # type: ignore[assignment]
    return {str(row["metric"]): row for row in rows}


def control_table(view: RunView, arm: Arm) -> Page:
    """The control without tools: any call reported here is a fault of the bench, not of a model."""
    table = view.at(view.metrics, arm)
    calls = table[table["metric"] == "control_calls"]
    total = int(calls["value"].fillna(0).sum())
    scored = int(table[table["metric"] == "scored"]["value"].sum())
    if total == 0:
        return html.paragraph(
            f"{arm}: no call was reported in {scored} attempts without tools, as it must be."
        )
    return html.paragraph(
        f"{arm}: {total} calls were reported although no tool was sent: a fault of the bench or the server, "
        "so no figure of this run can be trusted before it is explained.",
        "warning",
    )


def is_control(view: RunView, arm: Arm) -> bool:
    """Whether an arm is a control in which no call is possible."""
    return view.header.load_conditions()[arm.condition].control


def heatmap(view: RunView, arm: Arm) -> Page:
    """Case × player for one arm."""
    frame = view.at(view.attempts, arm)
    if frame.empty:
        return html.paragraph(f"{arm}: no attempt was made.", "note")
    fig = plots.heatmap(frame, view.players)
    passed = frame[frame["scored"].astype(bool)].groupby("player")["passed"].agg(["sum", "count"])
    alt = f"{arm}: passed attempts by case and player. " + "; ".join(
        f"{player}: {int(row['sum'])} of {int(row['count'])}" for player, row in passed.iterrows()
    )
    return html.figure(fig, alt, f"{arm}: attempts passed / scored by case, hardest at the bottom")


def failure_plot(view: RunView, arm: Arm) -> Page:
    """Failure classes by player for one arm, by each failed attempt's first finding."""
    frame, findings = view.at(view.attempts, arm), view.at(view.findings, arm)
    if findings.empty:
        return html.paragraph(f"{arm}: nothing failed.", "note")
    fig = plots.failure_classes(findings, frame, view.players)
    top = findings["code"].value_counts().head(5)
    alt = f"{arm}: failed attempts by class of the first finding; most frequent findings: " + ", ".join(
        f"{code} {number}" for code, number in top.items()
    )
    return html.figure(fig, alt, f"{arm}: failed attempts by first finding")


def failure_table(view: RunView, arm: Arm) -> Page:
    """Findings by code and player (attempts that have the code at least once)."""
    findings = view.at(view.findings, arm)
    if findings.empty:
        return html.EMPTY
    unique = findings.drop_duplicates(["player", "case_id", "repetition", "code"])
    table = pd.crosstab(unique["code"], unique["player"]).reindex(columns=view.players, fill_value=0)
    table = table.loc[table.sum(axis=1).sort_values(ascending=False, kind="stable").index].reset_index()
    return html.table(table, f"{arm}: attempts with each finding", numbers=view.players)


def paired_effect(view: RunView, suite: str, lang: str, left: str, right: str) -> Page:
    """Two conditions side by side on the cases both have; never one merged figure."""
    caption = f"{left} and {right} on the same cases"
    try:
        sides = [select(view.scored, name, suite=suite, lang=lang, condition=name) for name in (left, right)]
        found = with_players(view, compare(sides[0], sides[1], ("condition",), ("pass_rate",)))
    except InputError as fault:
        return html.paragraph(f"{suite} · {lang}: {caption}: {fault}", "note")
    if not found.table["cases"].any():
        return html.paragraph(f"{suite} · {lang}: no case was scored under both {left} and {right}.", "note")
    table = found.table[found.table["cases"] > 0]
    alt = f"{suite} · {lang}: {caption}: " + "; ".join(
        f"{row.player} {percent(row.left)} and {percent(row.right)}" for row in each(table)
    )
    figure = html.figure(plots.dumbbell(table, left, right), alt, f"{suite} · {lang}: {caption}")
    return effect_table(found, caption) + _moved(found) + figure


def _moved(found: Comparison) -> Page:
    """What a share of passes does not show: cases that go another way, and behaviour that differs."""
    rows = []
    for (player,), cases in groups(found.cases, ["player"]):
        outcomes = cases["outcome"].value_counts()
        behaviour = flip_cells(pd.Series(excess(cases)))
        del behaviour["usual changes"]
        counts = {"better": outcomes.get("only right", 0), "worse": outcomes.get("only left", 0)}
        rows.append({"player": player, **counts, **behaviour})
    shown = pd.DataFrame(rows)
    caption = "Two attempts at a case that behave differently: one of each side, and two of one side"
    return html.table(shown, caption, numbers=list(shown.columns[1:]))


def consistency(view: RunView, arm: Arm) -> Page:
    """Repetitions of equal cases: how often does a model do the same again?"""
    frame = view.at(view.attempts, arm)
    if frame["repetition"].nunique() < 2:
        return html.paragraph(f"{arm}: one repetition, so consistency cannot be said.", "note")
    table = view.at(view.metrics, arm).set_index(["player", "metric"])["value"].unstack()
    names = ["consistency", "distinct_decisions", "pass^k", "pass@k"]
    shown = table.reindex(index=view.players, columns=names).round(2).reset_index()
    pages = [html.table(shown, f"{arm}: agreement of repetitions", numbers=names)]
    for player in view.models:
        if not frame[frame["player"] == player].empty:
            alt = f"{arm}, {player}: equal letters are equal behaviour, in brackets: did not pass"
            pages.append(html.figure(plots.consistency_grid(frame, player), alt))
    return html.join(pages)


def worked_examples(view: RunView, arm: Arm, codes: int = 8, each: int = 2) -> Page:
    """For each frequent finding of the models: its meaning, what to check, and examples."""
    findings = view.at(view.findings, arm)
    findings = findings[findings["player"].isin(view.models)]
    if findings.empty:
        return html.paragraph(f"{arm}: no model has a finding.", "note")
    chosen: dict[str, list[pd.Series[Any]]] = {}
    for code in findings["code"].value_counts().head(codes).index:
        rows = findings[findings["code"] == code].drop_duplicates(["player", "case_id"])
        # One example a model first, so that each shows how it breaks.
        order = rows.groupby("player").cumcount().sort_values(kind="stable").index
        chosen[str(code)] = [rows.loc[index] for index in order[:each]]
    records = view.records([attempt_key(row) for rows in chosen.values() for row in rows])
    pages = []
    for code, rows in chosen.items():
        frequency = findings[findings["code"] == code].drop_duplicates(["player", "case_id", "repetition"])
        pages.append(html.heading(f"{code} — {len(frequency)} attempts", 4))
        pages.append(html.paragraph(explained(code)))
        pages += [
            example(view, records[attempt_key(row)], row) for row in rows if attempt_key(row) in records
        ]
    return html.join(pages)


def example(view: RunView, attempt: Attempt, finding: pd.Series[Any]) -> Page:
    """One attempt: the user's words, the calls, the finding, and the raw responses folded."""
    case = view.suites[attempt.suite].case_by_key[attempt.lang, attempt.case_id]
    calls = [
        f"{call.tool}({call.raw_arguments}) → {call.states[-1]}" for call in attempt.calls if call.turn >= 0
    ]
    title = (
        f"{finding['player']} · {attempt.case_id} · repetition {attempt.repetition + 1}: {finding['reason']}"
    )
    parts = [
        html.preformatted("\n".join(f"user: {text}" for text in case.user_texts)),
        html.preformatted("\n".join(f"call: {call}" for call in calls) or "no call"),
        html.paragraph(
            f"{finding['code']} at {finding['path']}: expected {finding['expected']}; got {finding['actual']}"
        ),
    ]
    parts += [
        html.folded(
            f"raw response of turn {turn.index}", html.preformatted(pretty(str(turn.response["text"])))
        )
        for turn in attempt.turns
    ]
    return html.folded(title, html.join(parts))


def pretty(text: str) -> str:
    """Return JSON indented where it is JSON, else the text."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError):
        return text


def explained(code: str) -> str:
    """Return what a finding usually means and what to check next."""
    known = CODES[code]
    return f"{known.meaning['en']} {known.diagnosis['en']}"


def limits(view: RunView) -> Page:
    """What this experiment cannot say."""
    always = [
        "Tools are simulated: latency and faults of real tools are not part of this.",
        "Texts are judged by rules and word lists: an unusual but right wording can be reported as wrong.",
        "Settings that a provider ignores (temperature, seed) make its runs less comparable.",
    ]
    return html.bullets([*cautions(view.scored), *always])


def gates(view: RunView) -> Page:
    """The gates that were fixed before the run, one row a gate and model, worst outcome first."""
    if view.header.gates is None:
        return html.paragraph("No gates were fixed before this run, so nothing is decided here.", "note")
    report = evaluate(view.scored)
    order = {"fail": 0, "not enough data": 1, "pass": 2}
    worst: dict[tuple[str, str], dict[str, str]] = {}
    for result in sorted(report.results, key=lambda result: order[result.outcome]):
        place = f"{result.suite} · {result.lang} · {result.condition}"
        row = {"gate": result.gate, "model": result.model, "outcome": result.outcome}
        worst.setdefault((result.gate, result.model), {**row, "where": place, "why": result.reason})
    changed = " These are not the gates that the run started with." if report.changed_after_run else ""
    line = f"Gates {report.version} ({report.hash[:8]}): {report.outcome}.{changed}"
    table = pd.DataFrame(list(worst.values()))
    return html.paragraph(line, "warning" if report.outcome == "fail" else "") + html.table(
        table, "The worst outcome of every gate for every model"
    )


def choice(view: RunView) -> Page:
    """Accuracy, risk and cost side by side, and who is beaten in all three; no winner is named."""
    table = pareto(view.scored)
    table = table[table["condition"].isin({arm.condition for arm in main_arms(view)})]
    rows = [
        {
            "suite · lang": f"{row['suite']} · {row['lang']}",
            "model": row["model"],
            "gates": row["gates"],
            "all checks passed": percent(row["pass_rate"]),
            "unsafe calls": percent(row["unsafe_call_rate"]),
            "cost of a completed operation": money(row["cost_per_completed"], row["currency"]),
            "beaten by": ", ".join(row["dominated_by"]) or "–",
        }
        for row in table.to_dict("records")
    ]
    return html.table(pd.DataFrame(rows), "Accuracy, risk and cost; unknown prices stay unknown")


def main_arms(view: RunView) -> list[Arm]:
    """Return each suite and language under its first condition: the arms looked at case by case."""
    firsts: dict[tuple[str, str], Arm] = {}
    for arm in view.arms:
        if not is_control(view, arm):
            firsts.setdefault((arm.suite, arm.lang), arm)
    return list(firsts.values())


def arm_tables(view: RunView) -> Iterator[Page]:
    """Yield the table of every arm, controls as their one question."""
    for arm in view.arms:
        yield control_table(view, arm) if is_control(view, arm) else metric_table(view, arm)


def effects(view: RunView) -> Iterator[Page]:
    """Yield the comparison of each suite's first condition with every other one that is no control."""
    found = False
    for first in main_arms(view):
        for other in view.arms:
            same = (other.suite, other.lang) == (first.suite, first.lang)
            if same and other.condition != first.condition and not is_control(view, other):
                found = True
                yield paired_effect(view, first.suite, first.lang, first.condition, other.condition)
    if not found:
        yield html.paragraph("Only one condition was run.", "note")
