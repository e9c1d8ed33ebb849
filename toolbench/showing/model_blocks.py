"""Each model in the method's three blocks (arguments, order, final answer) and what stands beside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from markupsafe import Markup

from toolbench.judging.counts import COUNT
from toolbench.numbers.rows import FLAGS
from toolbench.numbers.tables import groups
from toolbench.showing import html
from toolbench.showing.dossier import Dossier
from toolbench.showing.html import Cell, Page, esc
from toolbench.showing.telling import sentence
from toolbench.showing.view import Arm
from toolbench.showing.words import NOTHING

Figures = Mapping[str, Mapping[str, Any]]
Column = Callable[[Dossier, str, Arm, Figures], "str | Page"]


def share(metric: str) -> Column:
    """Return a column that is a rate: percent, ``k/n`` and the 95 % interval."""

    def shown(dossier: Dossier, player: str, arm: Arm, rows: Figures) -> str | Page:
        return rate(dossier, rows[metric])

    return shown


def rate(dossier: Dossier, row: Mapping[str, Any]) -> str | Page:
    """Return a row of a metrics frame as a cell; what is left to a person bounds it."""
    say = dossier.say
    left = 0 if pd.isna(row["to_review"]) else int(row["to_review"])
    if not row["denominator"] or pd.isna(row["value"]):
        return say("rate.review", number=left) if left else NOTHING
    percent = say.share(row["numerator"], row["denominator"])
    ends = say.span(row["ci_low"], row["ci_high"])
    counts = f"{row['numerator']:.0f}/{row['denominator']:.0f}"
    small = [f"{counts} [{ends}]" if ends else counts]
    if left:
        low, high = sorted((row["worst"], row["best"]))
        small.append(say("rate.bounds", ends=say.span(low, high), number=left))
    lines = Markup("").join(Markup("<br><small>{}</small>").format(line) for line in small)
    return Page(Markup("{}{}").format(percent, lines), f"{percent} ({'; '.join(small)})")


def seen(dossier: Dossier, player: str, arm: Arm, rows: Figures) -> str:
    """Return the cases behind the figures and the scenarios they vary, which carry the interval."""
    row = rows["pass_rate"]
    return f"{row['cases']:.0f} ({row['clusters']:.0f})" if pd.notna(row["cases"]) else NOTHING


def total(metric: str) -> Column:
    """Return a column that is a plain number of calls or attempts."""

    def shown(dossier: Dossier, player: str, arm: Arm, rows: Figures) -> str:
        value = rows[metric]["value"]
        return NOTHING if value is None or pd.isna(value) else f"{value:.0f}"

    return shown


def having(*codes: str) -> Column:
    """Return a column that counts the attempts with one of some findings (an attempt may have two)."""

    def shown(dossier: Dossier, player: str, arm: Arm, rows: Figures) -> str | Page:
        found = dossier.codes.get((player, arm), Counter())
        number = sum(found[code] for code in codes)
        return str(number)

    return shown


def quantile(metric: str) -> Column:
    """Return a column that is a time."""

    def shown(dossier: Dossier, player: str, arm: Arm, rows: Figures) -> str:
        return dossier.say.time(rows[metric]["value"])

    return shown


def tokens(dossier: Dossier, player: str, arm: Arm, rows: Figures) -> str | Page:
    """Return input and output tokens of an attempt."""
    made = rows["attempted"]["value"]
    sums = [rows[name]["value"] for name in ("input_tokens", "output_tokens")]
    if not made or any(value is None or pd.isna(value) for value in sums):
        return NOTHING
    told = " / ".join(dossier.say.thousands(value / made) for value in sums)
    return Page(Markup("{}").format(told), told)


def cost(dossier: Dossier, player: str, arm: Arm, rows: Figures) -> str:
    """Return what a completed operation costs; nothing where none was completed."""
    if player in dossier.free:
        return "0" if rows["completion_rate"]["numerator"] else NOTHING
    row = rows["cost_per_completed"]
    return dossier.say.money(row["value"], str(row["unit"]).split(" ", 1)[0])


def _at(frame: pd.DataFrame, arm: Arm) -> pd.Series[bool]:
    return (frame["suite"] == arm.suite) & (frame["lang"] == arm.lang) & (frame["condition"] == arm.condition)


@dataclass(frozen=True)
class Block:
    """One labelled table of a model: a row an arm, its columns named ``column.*`` in the words."""

    name: str
    columns: Mapping[str, Column]


BLOCKS = (
    Block(
        "choice",
        {
            "cases": seen,
            "pass": share("pass_rate"),
            "decision": share("decision_accuracy"),
            "selection": share("tool_selection_accuracy"),
            "precision": share("tool_precision"),
            "recall": share("tool_recall"),
            "asked": share("clarification_rate"),
            "needless": share("needless_question_rate"),
            "unsafe": share("unsafe_call_rate"),
        },
    ),
    Block(
        "arguments",
        {
            "raw": share("raw_schema_validity"),
            "repairable": share("repairable_rate"),
            "invalid": share("invalid_rate"),
            "exact": share("exact_argument_accuracy"),
            "normalized": share("normalized_argument_accuracy"),
            "ungrounded": having("ungrounded_argument"),
        },
    ),
    Block(
        "order",
        {
            "order": share("order_validity"),
            "skipped": having("skipped_step"),
            "early": having("forbidden_early_call", "wrong_order"),
            "race": having("race_before_result"),
            "branch": having("wrong_branch_after_error", "call_after_empty_result"),
            "repeats": total("repeated_calls"),
            "unconfirmed": total("confirmation_violations"),
            "twice": total("duplicate_executions"),
        },
    ),
    Block(
        "answer",
        {
            "support": share("final_answer_support"),
            "false": share("false_claim_rate"),
            "invented": having("invented_value", "fact_mismatch", "missing_fact"),
            "permanent": share("permanent_error_recovery"),
            "temporary": share("temporary_error_recovery"),
            "review": total("to_review"),
        },
    ),
    Block(
        "spent",
        {
            "completed": share("completion_rate"),
            "p50": quantile("latency_p50"),
            "p95": quantile("latency_p95"),
            "tokens": tokens,
            "cost": cost,
            "errors": total("transport_errors"),
            "unsupported": total("unsupported"),
        },
    ),
)
"""The three blocks of the method between what comes before them and what they cost."""


def blocks(dossier: Dossier) -> Page:
    """Return every model's blocks, then the baselines as the floor."""
    pages = [model(dossier, player) for player in dossier.subjects]
    if dossier.floor:
        floor = [table(dossier, BLOCKS[0], [(p, arm) for arm in dossier.main for p in dossier.floor])]
        pages.append(
            html.heading(dossier.say("floor.heading"), 3, "floor")
            + html.paragraph(dossier.say("floor.lead"), "note")
            + html.join(floor)
        )
    return html.join(pages)


def model(dossier: Dossier, player: str) -> Page:
    """Return one model: its sentence, five tables of the first condition, and the rest folded."""
    say = dossier.say
    others = [arm for arm in dossier.arms if arm not in dossier.main]
    title = html.heading(player, 3, f"m{dossier.view.players.index(player)}")
    pages = [html.block([sentence(dossier, player)], "told")]
    pages += [table(dossier, block, [(player, arm) for arm in dossier.main]) for block in BLOCKS]
    if others:
        inside = html.join(table(dossier, block, [(player, arm) for arm in others]) for block in BLOCKS)
        pages.append(html.folded(say("other_conditions", number=len(others)), inside))
    pages += [flags(dossier, player), by_class(dossier, player), settings(dossier, player)]
    pages.append(unsupported(dossier, player))
    return title + html.block(pages, "model")


def table(dossier: Dossier, block: Block, places: Sequence[tuple[str, Arm]]) -> Page:
    """Return one block: a row an arm (of several players: a row each)."""
    say = dossier.say
    several = len({player for player, _ in places}) > 1
    conditions = len({arm.condition for _, arm in places}) > 1
    names = [say("column." + name) for name in block.columns]
    rows = []
    for player, arm in places:
        if (player, arm) in dossier.figures:
            figures = dossier.figures[player, arm]
            who = [player] if several else []
            made = [column(dossier, player, arm, figures) for column in block.columns.values()]
            rows.append([*who, dossier.arm_name(arm, conditions), *made])
    heads = [*([say("player")] if several else []), say("arm" if conditions else "suite_lang")]
    frame = pd.DataFrame(rows, columns=[*heads, *names])
    return html.table(
        frame, say("block." + block.name), numbers=names, kind=f"block {block.name}", heads=len(heads)
    )


def flags(dossier: Dossier, player: str) -> Page:
    """Return the five flags: attempts in which each holds, of those in which its question arises."""
    say = dossier.say
    frame = dossier.view.attempts
    mine = frame[(frame["player"] == player) & frame["scored"].astype(bool)]
    rows = []
    for arm, _ in dossier.places(player, dossier.main):
        here = mine[_at(mine, arm)]
        cells = []
        for name in FLAGS:
            known = here[name].dropna()
            right, due = int(known.sum()), len(known)
            cells.append(f"{say.share(right, due)} ({right}/{due})" if due else NOTHING)
        rows.append([dossier.arm_name(arm, condition=False), *cells])
    names = [say.name("flag", name) for name in FLAGS]
    frame = pd.DataFrame(rows, columns=[say("suite_lang"), *names])
    return html.table(frame, say("flags.caption"), numbers=names, kind="block", heads=1)


def by_class(dossier: Dossier, player: str) -> Page:
    """Return passed and scored attempts by class of case, folded: a row a class, a column an arm."""
    say = dossier.say
    frame = dossier.view.attempts
    mine = frame[(frame["player"] == player) & frame["scored"].astype(bool) & (frame[COUNT.review] == 0)]
    columns: dict[str, pd.DataFrame] = {}
    for arm, _ in dossier.places(player, dossier.main):
        here = mine[_at(mine, arm)]
        columns[dossier.arm_name(arm, condition=False)] = here.groupby("case_class")["passed"].agg(
            ["sum", "size"]
        )
    classes = sorted({name for sums in columns.values() for name in sums.index})
    rows = [[name, *(_fraction(sums, name) for sums in columns.values())] for name in classes]
    table = html.table(
        pd.DataFrame(rows, columns=[say("class"), *columns]),
        say("class.caption"),
        numbers=list(columns),
        kind="classes",
        heads=1,
    )
    return html.folded(say("class.fold", number=len(classes)), table, "paper")


def _fraction(sums: pd.DataFrame, name: str) -> str | Page:
    if name not in sums.index:
        return ""
    right, due = (int(number) for number in sums.loc[name].to_numpy())
    return Cell(esc(f"{right}/{due}"), f"{right}/{due}", f"n s{step(right, due)}")


def step(right: int, due: int) -> int:
    """Return which of five shades a share gets: 4 all, 0 none."""
    return 4 if right == due else 0 if not right else 1 + min(2, 3 * right // due)


def settings(dossier: Dossier, player: str) -> Page:
    """Return what was asked of a model, what was sent to it and what it is known to honour."""
    say = dossier.say
    found = dossier.seen.settings.get(player)
    if not found:
        return html.EMPTY
    rows = []
    for name in sorted(found):
        for (asked, sent, honoured), number in found[name].most_common(4):
            known = say.name("honoured", honoured)
            rows.append([name, say.name("honoured", asked), say.name("honoured", sent), known, number])
    names = [say(f"settings.{name}") for name in ("setting", "asked", "sent", "honoured", "requests")]
    frame = pd.DataFrame(rows, columns=names)
    return html.table(frame, say("settings.caption"), numbers=names[-1:], kind="settings", heads=1)


def unsupported(dossier: Dossier, player: str) -> Page:
    """Return what a provider would not do, with its reason; nothing where it did everything."""
    say = dossier.say
    frame = dossier.view.attempts
    mine = frame[(frame["player"] == player) & (frame["status"] == "unsupported")]
    if mine.empty:
        return html.paragraph(say("unsupported.none"), "note")
    rows = [
        [str(Arm(*arm)), len(group), next(iter(group["error"].dropna()), NOTHING)]
        for arm, group in groups(mine, ["suite", "lang", "condition"])
    ]
    names = [say("arm"), say("attempts"), say("reason")]
    frame = pd.DataFrame(rows, columns=names)
    return html.table(frame, say("unsupported.caption"), numbers=names[1:2], kind="block lost", heads=1)
