"""The first screen: the verdict in a line, what makes figures doubtful, a sentence a model, the matrix."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from markupsafe import Markup

from toolbench.numbers.cautions import FEW_CASES, FEW_REPETITIONS, INCOMPLETE_ABOVE
from toolbench.numbers.definitions import RATES
from toolbench.numbers.gates import GateResult
from toolbench.numbers.rows import GROUP
from toolbench.showing import html
from toolbench.showing.dossier import Dossier
from toolbench.showing.html import Cell, Page, esc
from toolbench.showing.telling import sentences
from toolbench.showing.view import Arm
from toolbench.showing.words import NOTHING

PARTS = (
    "models",
    "cases",
    "failures",
    "effects",
    "choosing",
    "consistency",
    "limits",
    "readiness",
    "talks",
    "about",
)
"""The page's parts after the first screen, in their order; their headings are ``part.*`` of the words."""
COLOURS = {"pass": "ok", "fail": "bad", "not enough data": "unsure", "none": "plain"}
SIGNS = {"pass": "✓", "fail": "✗", "not enough data": "?", "none": ""}
WIDEST = 6
"""Columns of figures that the matrix has at most."""
REVIEW_ABOVE = 0.05
"""Share of attempts left to a person above which figures are to be read with care."""


def front(dossier: Dossier) -> Page:
    """Return everything that is seen before scrolling, and the table of contents."""
    view, say = dossier.view, dossier.say
    pages = [html.heading(say("title", run=view.header.run_id), 1), verdict(dossier)]
    pages += [html.paragraph(line, f"warning {kind}") for kind, line in warnings(dossier)]
    pages.append(html.paragraph(aside(dossier), "note"))
    pages += [sentences(dossier), matrix(dossier), contents(dossier)]
    return html.join(pages)


def part(dossier: Dossier, name: str) -> Page:
    """Return the heading of a part and the line that says how to read it."""
    say = dossier.say
    number = PARTS.index(name) + 1
    return html.heading(f"{number}. {say('part.' + name)}", 2, name) + html.paragraph(
        say("lead." + name), "note"
    )


def contents(dossier: Dossier) -> Page:
    """Return links to the parts."""
    say = dossier.say
    links = [html.inline(f"{n}. {say('part.' + name)}", href="#" + name) for n, name in enumerate(PARTS, 1)]
    items = Markup("").join(Markup("<li>{}</li>").format(link.html) for link in links)
    label = say("contents")
    inner = Markup('<nav aria-label="{}"><ol class="contents">{}</ol></nav>').format(label, items)
    return Page(inner, label + ": " + "; ".join(link.text for link in links))


def verdict(dossier: Dossier) -> Page:
    """Return what the gates decide, in one line."""
    say = dossier.say
    if not dossier.view.models:
        return html.paragraph(say("verdict.no_models"), "verdict plain")
    told = (
        []
        if any(dossier.outcome(player) == "pass" for player in dossier.subjects)
        else [say("verdict.nobody")]
    )
    for outcome in ("pass", "not enough data", "fail"):
        players = [player for player in dossier.subjects if dossier.outcome(player) == outcome]
        if players:
            told.append(say(f"verdict.{outcome}", players=say.listed(players)))
    report = dossier.gates
    key = "verdict.fixed" if dossier.fixed and not report.changed_after_run else "verdict.later"
    key = key if dossier.fixed else "verdict.default"
    line = say(key, version=report.version, told="; ".join(told))
    kind = COLOURS[report.outcome] if dossier.fixed else "plain"
    return html.paragraph(line, f"verdict {kind}")


def warnings(dossier: Dossier) -> Iterator[tuple[str, str]]:
    """Yield what makes figures untrustworthy, worst first, each with its class of the style sheet."""
    view, say = dossier.view, dossier.say
    if view.incomplete:
        yield "bad", say("warn.incomplete", what="; ".join(_missing(dossier)))
    calls = _control_calls(dossier)
    if calls:
        yield "bad", say("warn.control", number=calls)
    for line in _unlike(dossier):
        yield "unsure", line
    mine = view.attempts["player"].isin(dossier.subjects)
    reviewed, scored = dossier.in_review, int(view.attempts.loc[mine, "scored"].sum())
    if scored and reviewed > REVIEW_ABOVE * scored:
        yield "unsure", say("warn.review", share=say.share(reviewed, scored), number=reviewed)
    cut = _only(dossier, "truncated_text")
    if cut:
        yield "unsure", say("warn.cut", number=cut)
    small = _small(dossier)
    if small:
        yield "unsure", small


def aside(dossier: Dossier) -> str:
    """Return what of the models' plan is in no share, said also where it is nothing."""
    view = dossier.view
    planned = view.named(view.scored.planned)
    made = view.attempts[view.attempts["player"].isin(dossier.subjects)]
    size = int(planned["player"].isin(dossier.subjects).sum())
    numbers = {
        "unsupported": int((made["status"] == "unsupported").sum()),
        "review": dossier.in_review,
        "transport": int((made["status"] == "transport_error").sum()),
        "missing": size - len(made),
    }
    return dossier.say("aside", planned=size, **numbers)


def _missing(dossier: Dossier) -> Iterator[str]:
    """Yield what a run that is not whole lacks."""
    scored, say = dossier.view.scored, dossier.say
    errors = int((scored.attempts["status"] == "transport_error").sum())
    numbers = {
        "missing": scored.missing,
        "transport": errors,
        "judge": len(scored.judge_errors),
        "lines": len(scored.problems),
    }
    for name, number in numbers.items():
        if number:
            yield say(f"missing.{name}", number=number, planned=len(scored.planned))


def _control_calls(dossier: Dossier) -> int:
    return sum(
        int(rows["control_calls"]["value"] or 0)
        for (_, arm), rows in dossier.figures.items()
        if arm.condition in dossier.controls and pd.notna(rows["control_calls"]["value"])
    )


def _unlike(dossier: Dossier) -> Iterator[str]:
    """Yield models for which much of the plan has no verdict."""
    say = dossier.say
    frame = dossier.view.attempts
    for player in dossier.subjects:
        mine = frame[frame["player"] == player]
        unsupported = int((mine["status"] == "unsupported").sum())
        if unsupported:
            yield say("warn.unsupported", player=player, number=unsupported, made=len(mine))
    planned = dossier.view.named(dossier.view.scored.planned).groupby("player").size()
    scored = frame[frame["scored"]].groupby("player").size()
    for player in dossier.subjects:
        size, done = int(planned.get(player, 0)), int(scored.get(player, 0))
        if size - done > INCOMPLETE_ABOVE * size:
            yield say("warn.unscored", player=player, done=done, planned=size)


def _only(dossier: Dossier, code: str) -> int:
    """Return how many attempts of the subjects fail by one code alone."""
    frame = dossier.view.attempts
    return int((frame["player"].isin(dossier.subjects) & (frame["codes"] == (code,))).sum())


def _small(dossier: Dossier) -> str:
    """Return a line on arms with too few cases or repetitions, empty where there are none."""
    frame, say = dossier.view.attempts, dossier.say
    if frame.empty:
        return ""
    arm = ["suite", "lang", "condition"]
    cases = frame.groupby(arm)["case_id"].nunique()
    times = frame.groupby([*GROUP, "case_id"]).size().groupby(arm).max()
    few, rare = int((cases < FEW_CASES).sum()), int((times < FEW_REPETITIONS).sum())
    told = []
    if rare:
        told.append(say("small.repetitions", number=rare, arms=len(times), least=FEW_REPETITIONS))
    if few:
        told.append(say("small.cases", number=few, arms=len(cases), least=FEW_CASES))
    return say("warn.small", what="; ".join(told)) if told else ""


def matrix(dossier: Dossier) -> Page:
    """Return model × suite and language: ``k/n`` passed, coloured by the gates, with the worst finding.

    Where that would be too wide for a page, languages are rows of a model.
    """
    say = dossier.say
    players = [*dossier.subjects, *(["floor"] if dossier.floor else [])]
    wide = len(dossier.main) > WIDEST
    if wide:
        suites = list(dict.fromkeys(arm.suite for arm in dossier.main))
        langs = list(dict.fromkeys(arm.lang for arm in dossier.main))
        at = {(arm.suite, arm.lang): arm for arm in dossier.main}
        rows = [
            [_named(dossier, player) if lang == langs[0] else "", lang]
            + [_cell(dossier, player, at[s, lang]) if (s, lang) in at else "" for s in suites]
            for player in players
            for lang in langs
        ]
        frame = pd.DataFrame(rows, columns=[say("player"), say("lang"), *suites])
    else:
        names = [dossier.arm_name(arm, condition=False) for arm in dossier.main]
        rows = [
            [_named(dossier, player), *(_cell(dossier, player, arm) for arm in dossier.main)]
            for player in players
        ]
        frame = pd.DataFrame(rows, columns=[say("player"), *names])
    conditions = say.listed(dict.fromkeys(arm.condition for arm in dossier.main))
    caption = say("matrix.caption", condition=conditions)
    key = Markup('<p class="legend">{}</p>').format(
        Markup(" ").join(
            Markup('<span class="key"><i class="{}">{}</i>{}</span>').format(
                COLOURS[outcome], SIGNS[outcome], say.name("outcome", outcome)
            )
            for outcome in ("pass", "not enough data", "fail")
        )
    )
    return html.table(frame, caption, kind="matrix", heads=1 + wide) + Page(key, "")


def _cell(dossier: Dossier, player: str, arm: Arm) -> Page | str:
    return (cell if player in dossier.subjects else floor_cell)(dossier, player, arm)


def _named(dossier: Dossier, player: str) -> Page:
    if player not in dossier.subjects:
        return html.inline(dossier.say("floor"), "floor", "#floor")
    return html.inline(player, href=f"#m{dossier.view.players.index(player)}")


def cell(dossier: Dossier, player: str, arm: Arm) -> Page | str:
    """Return one cell of the matrix."""
    rows, say = dossier.figures.get((player, arm)), dossier.say
    if rows is None:
        return NOTHING
    row = rows["pass_rate"]
    outcome = dossier.outcome(player, arm)
    worst = dossier.worst(player, arm)
    told = f"{row['numerator']:.0f}/{row['denominator']:.0f}" if row["denominator"] else NOTHING
    shown = Markup("<b>{}</b> {}").format(told, SIGNS[outcome])
    lost = [
        say(f"lost.{name}", number=f"{rows[name]['value']:.0f}")
        for name in ("to_review", "unsupported", "transport_errors")
        if rows[name]["value"]
    ]
    if worst:
        lost.insert(0, say.meaning(worst).rstrip("."))
    text = f"{told} {SIGNS[outcome]} {'; '.join(lost)}"
    href = f"#g{dossier.view.arms.index(arm)}"
    beside = Markup("<br><small>{}</small>").format("; ".join(lost)) if lost else Markup("")
    inner = Markup('<a href="{}">{}</a>{}').format(href, shown, beside)
    return Cell(inner, text, COLOURS[outcome])


def floor_cell(dossier: Dossier, player: str, arm: Arm) -> Page | str:
    """Return what the best of the baselines reaches, by its name."""
    found = [
        (row["value"], row, name)
        for name in dossier.floor
        if (name, arm) in dossier.figures
        and pd.notna((row := dossier.figures[name, arm]["pass_rate"])["value"])
    ]
    if not found:
        return NOTHING
    _, row, name = max(found, key=lambda entry: entry[0])
    told = f"{row['numerator']:.0f}/{row['denominator']:.0f}"
    inner = Markup("<b>{}</b> <small>{}</small>").format(told, esc(name))
    return Cell(inner, f"{told} ({name})", "floor")


def gate_name(dossier: Dossier, result: GateResult) -> str:
    """Return a gate in plain words: its figure and its limit with a unit."""
    say = dossier.say
    sign, number = result.limit.split(" ", 1)
    limit = float(number)
    if result.metric in {rate.name for rate in RATES} | {"coverage", "transport_error_share"}:
        shown = say.share(limit, 1) if limit else "0 %"
    elif result.metric.startswith(("latency", "first_token")):
        shown = say.time(limit)
    else:
        shown = say.decimal(f"{limit:g}")
    return f"{say.name('metric', result.metric)} {sign} {shown}"


def gate_table(dossier: Dossier) -> Page:
    """Return every gate a row and every model a column, the worst place of each named."""
    say = dossier.say
    gates: dict[str, dict[str, GateResult]] = {}
    names: dict[str, str] = {}
    for player in dossier.subjects:
        for result in dossier.gates_of.get(player, ()):
            names.setdefault(result.gate, gate_name(dossier, result))
            known = gates.setdefault(result.gate, {}).setdefault(player, result)
            gates[result.gate][player] = min(known, result, key=badness)
    rows = [
        [name, *(_gate_cell(dossier, gates[gate].get(player)) for player in dossier.subjects)]
        for gate, name in names.items()
    ]
    frame = pd.DataFrame(rows, columns=[say("gate"), *dossier.subjects])
    return html.table(frame, say("gates.caption"), kind="gates", heads=1)


def badness(result: GateResult) -> tuple[int, float]:
    """Order results of one gate, the worst first: by outcome, then by their value."""
    order = ("fail", "not enough data", "pass")
    value = float("inf") if result.value is None else result.value
    return order.index(result.outcome), value if result.limit.startswith("≥") else -value


def _gate_cell(dossier: Dossier, result: GateResult | None) -> Page | str:
    if result is None:
        return NOTHING
    say = dossier.say
    value = result.value
    if value is None:
        shown = say("no_figure")
    elif result.metric.startswith(("latency", "first_token")):
        shown = say.time(value)
    elif result.metric in {rate.name for rate in RATES} | {"coverage", "transport_error_share"}:
        shown = say.share(value, 1)
    else:
        shown = say.decimal(f"{value:g}")
    place = f"{result.suite} · {result.lang} · {result.condition}"
    worst = f"{SIGNS[result.outcome]} {shown}, n = {result.n}"
    if result.n < dossier.least(result.gate):
        worst += f" < {dossier.least(result.gate)}"
    inner = Markup("<b>{}</b><br><small>{}</small>").format(worst, esc(place))
    return Cell(inner, f"{worst} {place}", COLOURS[result.outcome])
