"""What this experiment cannot say: the eight limits of the method, each with this run's facts."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from markupsafe import Markup

from toolbench.numbers.sequence import LABEL
from toolbench.showing import html
from toolbench.showing.dossier import Dossier
from toolbench.showing.html import Page, esc

LIMITS = ("synthetic", "time", "determinism", "schema", "language", "forced", "safety", "network")


def limits(dossier: Dossier) -> Page:
    """Return the eight limits as a numbered list: the limit, then the facts."""
    facts = {
        "synthetic": _synthetic,
        "time": _time,
        "determinism": _determinism,
        "schema": _schema,
        "language": _language,
        "forced": _forced,
        "safety": _safety,
        "network": _network,
    }
    say = dossier.say
    told = [(say("limit." + name), " ".join(facts[name](dossier))) for name in LIMITS]
    items = Markup("").join(Markup("<li><b>{}</b> {}</li>").format(esc(a), esc(b)) for a, b in told)
    text = "\n".join(f"{number}. {a} {b}" for number, (a, b) in enumerate(told, 1))
    return Page(Markup('<ol class="limits">{}</ol>').format(items), text)


def _synthetic(dossier: Dossier) -> Iterator[str]:
    suites = dossier.view.suites.values()
    number = sum(len(suite.cases) for suite in suites)
    classes = len({case.klass for suite in suites for case in suite.cases})
    yield dossier.say("fact.synthetic", cases=number, classes=classes, suites=len(list(suites)))


def _time(dossier: Dossier) -> Iterator[str]:
    say = dossier.say
    yield say("fact.time", day=dossier.view.header.started_at[:10])
    asked = {name: key.model for key, name in dossier.view.names.items()}
    answered = {player: sorted(dossier.seen.returned.get(player, ())) for player in dossier.view.models}
    same = [player for player, names in answered.items() if names == [asked[player]]]
    if same:
        yield say("fact.returned_same", players=say.listed(same))
    for player, names in answered.items():
        if not names:
            yield say("fact.not_returned", player=player)
        elif player not in same:
            yield say("fact.returned", player=player, names=say.listed(names, 3))


def _determinism(dossier: Dossier) -> Iterator[str]:
    say = dossier.say
    asked = sorted(
        {
            sent.removesuffix(".0")
            for settings in dossier.seen.settings.values()
            for _, sent, _ in settings.get("temperature", ())
            if sent != "None"
        }
    )
    yield (
        say("fact.temperature", values=say.decimal(say.listed(asked)))
        if asked
        else say("fact.no_temperature")
    )
    frame = dossier.view.attempts
    mine = frame[frame["player"].isin(dossier.subjects) & frame["scored"].astype(bool)]
    ways = mine.groupby(["player", "suite", "lang", "condition", "case_id"])["behaviour"].agg(
        ["nunique", "size"]
    )
    repeated = ways[ways["size"] > 1]
    if repeated.empty:
        yield say("fact.never_repeated")
    else:
        yield say("fact.repeated", moved=int((repeated["nunique"] > 1).sum()), all=len(repeated))


def _schema(dossier: Dossier) -> Iterator[str]:
    calls = dossier.view.calls
    mine = calls[calls["player"].isin(dossier.subjects)]
    broken = int((mine["tier"] != "raw_valid").sum())
    yield dossier.say("fact.schema", broken=broken, all=len(mine))


def _language(dossier: Dossier) -> Iterator[str]:
    say = dossier.say
    langs = sorted({arm.lang for arm in dossier.main})
    if len(langs) < 2:
        yield say("fact.one_language", lang=say.listed(langs))
        return
    alike = []
    for player in dossier.view.models:
        gaps = []
        for suite in dict.fromkeys(arm.suite for arm in dossier.main):
            shares = {
                arm.lang: rows["pass_rate"]["value"]
                for arm, rows in dossier.places(player, dossier.main)
                if arm.suite == suite
            }
            known = {lang: value for lang, value in shares.items() if pd.notna(value)}
            if len(known) > 1:
                gaps.append((max(known.values()) - min(known.values()), suite, known))
        gap, suite, known = max(gaps, key=lambda one: one[0], default=(0.0, "", {}))
        if not gap:
            alike.append(player)
        else:
            told = ", ".join(f"{lang} {say.share(value, 1)}" for lang, value in known.items())
            yield say("fact.languages", player=player, suite=suite, shares=told)
    if alike:
        yield say("fact.languages_alike", players=say.listed(alike))


def _forced(dossier: Dossier) -> Iterator[str]:
    say = dossier.say
    conditions = dossier.view.header.load_conditions()
    names = [name for name, condition in conditions.items() if condition.forced]
    yield say("fact.forced", names=say.listed(names)) if names else say("fact.not_forced")


def _safety(dossier: Dossier) -> Iterator[str]:
    say = dossier.say
    writes = [t.name for s in dossier.view.suites.values() for t in s.contract.tools if t.effect == "write"]
    proposed = sum(
        rows["confirmation_violations"]["value"] or 0
        for (player, _), rows in dossier.figures.items()
        if player in dossier.subjects and pd.notna(rows["confirmation_violations"]["value"])
    )
    yield say("fact.safety", tools=say.listed(dict.fromkeys(writes)) or "–", number=int(proposed))


def _network(dossier: Dossier) -> Iterator[str]:
    say, counts = dossier.say, dossier.seen.evidence.counts
    errors = counts["permanent errors"] + counts["temporary errors"]
    yield say("fact.network", errors=errors)
    lost = int((dossier.view.attempts["status"] == "transport_error").sum())
    yield say("fact.transport", number=lost)


def about(dossier: Dossier) -> Page:
    """Return what was run: names, versions, hashes and signatures, for whoever wants to run it again."""
    view, say = dossier.view, dossier.say
    header = view.header
    conditions = say.listed([condition["name"] for condition in header.conditions], 20)
    facts = {
        "run": header.run_id,
        "started": header.started_at,
        "models": say.listed(view.models, 50) or "–",
        "suites": say.listed([f"{s['name']} ({s['contract']['version']})" for s in header.suites], 50),
        "cases": str(sum(len(suite["cases"]) for suite in header.suites)),
        "conditions": conditions,
        "attempts": f"{len(view.attempts)} / {len(view.scored.planned)}",
        "gates": f"{dossier.gates.version} ({dossier.gates.hash[:8]})" if view.attempts.size else "–",
        "commit": header.git_commit or "–",
        "versions": ", ".join(f"{name} {version}" for name, version in header.versions.items()),
        "labels": ", ".join(f"{name}: {value}" for name, value in header.labels.items() if name != LABEL)
        or "–",
        "problems": say.listed(view.scored.problems, 5) or "–",
    }
    frame = pd.DataFrame({"": [say("about." + name) for name in facts], " ": list(facts.values())})
    lines = [f"{arm}: {line}" for arm, line in signatures(dossier).items()]
    return html.table(frame, kind="about", heads=1) + html.folded(
        say("about.signatures"), html.bullets(lines)
    )


def signatures(dossier: Dossier) -> dict[str, str]:
    """Return arm → the line of everything that changes a number."""
    from toolbench.numbers.signature import signature

    view = dossier.view
    return {
        str(arm): str(
            signature(
                view.header,
                {"suite": arm.suite, "lang": arm.lang, "condition": arm.condition},
                view.suites,
                view.scored.people.signature,
            )
        )
        for arm in view.arms
    }
