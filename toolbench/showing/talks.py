"""Every failed conversation, readable: question, calls, results, answer, and each finding with its evidence.

Repetitions that came to the same are told once. Where there are more conversations than a page should hold,
each player's go to a page of its own beside the report.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from markupsafe import Markup

from toolbench.domain.keys import AttemptKey
from toolbench.domain.record import Attempt, CallRecord, TurnRecord
from toolbench.numbers.rows import GROUP
from toolbench.showing import html
from toolbench.showing.families import family
from toolbench.showing.html import Page, esc
from toolbench.showing.view import Arm, RunView
from toolbench.showing.words import Words

ON_ONE_PAGE = 400
"""Failed conversations that stand on the report's own page."""
RAW_BYTES = 250
"""Bytes of raw responses for each attempt of the run; beyond that the log's line is named instead."""
LONGEST = {"question": 1500, "arguments": 400, "result": 300, "answer": 900, "value": 160, "raw": 1500}
"""Characters shown of each kind of text; a cut is marked."""
PLAIN = ("syntax", "structure", "values", "provenance", "decision")
"""Layers of findings of which the meaning and the two values say everything."""
_PLACE = re.compile(r"(calls|turns)\[(\d+)\](?:\.arguments)?\.?(.*)")


class Subject(NamedTuple):
    """What one conversation is about: who, under which condition, in which case."""

    player: str
    arm: Arm
    case: str


@dataclass
class _Variant:
    """Repetitions that went alike."""

    body: str
    raw: str
    line: int | None
    repetitions: list[int] = field(default_factory=list)


class Talks:
    """The failed conversations of some players, made from complete records one at a time."""

    def __init__(self, view: RunView, say: Words, players: Sequence[str]) -> None:
        self.view, self.say, self._players = view, say, list(players)
        self._arms = {arm: number for number, arm in enumerate(view.arms)}
        self._findings: dict[AttemptKey, list[Any]] = defaultdict(list)
        rows = view.findings[view.findings["player"].isin(self._players)]
        for row in rows.itertuples(index=False):
            key = AttemptKey(*(getattr(row, name) for name in (*GROUP, "case_id", "repetition")))
            self._findings[key].append(row)
        self._found: dict[Subject, dict[Any, _Variant]] = defaultdict(dict)
        self._log = view.scored.log

    def add(self, attempt: Attempt, player: str) -> None:
        """Take one record; a passed one, or another player's, leaves nothing."""
        findings = self._findings.get(attempt.key)
        if not findings:
            return
        arm = Arm(attempt.suite, attempt.lang, attempt.condition)
        variants = self._found[Subject(player, arm, attempt.case_id)]
        steps = "".join(self._steps(attempt))
        told = [(row.code, row.path, row.expected, row.actual) for row in findings]
        alike = (steps, tuple(told))
        if alike not in variants:
            wrong = "".join(map(self._finding, findings))
            body = f'<ol class="steps">{steps}</ol><ul class="found">{wrong}</ul>'
            variants[alike] = _Variant(body, self._raw(attempt), self._log.line(attempt.key))
        variants[alike].repetitions.append(attempt.repetition + 1)

    def __len__(self) -> int:
        return len(self._found)

    @property
    def apart(self) -> bool:
        """Whether the conversations are on pages of their own."""
        return len(self) > ON_ONE_PAGE

    def link(self, player: str, arm: Arm, case: str) -> str | None:
        """Return where a conversation is to be read, ``None`` where nothing failed."""
        subject = Subject(player, arm, case)
        if subject not in self._found:
            return None
        return f"{self.file(player) if self.apart else ''}#{self.anchor(subject)}"

    def anchor(self, subject: Subject) -> str:
        """Return the name of a conversation inside its page."""
        lang_case = self._case_number[subject.arm.suite, subject.arm.lang, subject.case]
        return f"t{self._players.index(subject.player)}-{self._arms[subject.arm]}-{lang_case}"

    def file(self, player: str) -> str:
        """Return the name of the page that has a player's conversations."""
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", player).strip("-.")[:40]
        return f"report.{self._players.index(player) + 1}-{plain or 'model'}.html"

    def on_page(self) -> Page:
        """Return all conversations, or where each player's are."""
        if not len(self):
            return html.paragraph(self.say("talks.none"))
        if not self.apart:
            on_paper = html.block([html.paragraph(self.say("talks.paper", number=len(self)))], "on-paper")
            return on_paper + html.block([self.of(self._players)], "on-screen")
        counted = {player: sum(s.player == player for s in self._found) for player in self._players}
        items = Markup("").join(
            Markup('<li><a href="{}">{}</a>: {}</li>').format(self.file(player), esc(player), number)
            for player, number in counted.items()
            if number
        )
        told = self.say("talks.apart", number=len(self), most=ON_ONE_PAGE)
        return html.paragraph(told, "note") + Page(Markup("<ul>{}</ul>").format(items), told)

    def files(self) -> Iterator[tuple[str, str, Page]]:
        """Yield name, player and content of every page beside the report."""
        for player in self._players if self.apart else ():
            if any(subject.player == player for subject in self._found):
                yield self.file(player), player, self.of([player])

    def of(self, players: Sequence[str]) -> Page:
        """Return the conversations of some players, case by case."""
        cases: dict[tuple[str, str, str], list[Subject]] = defaultdict(list)
        for subject in self._found:
            if subject.player in players:
                cases[subject.arm.suite, subject.arm.lang, subject.case].append(subject)
        left = RAW_BYTES * max(1, len(self.view.attempts)) * len(players) // len(self._players)
        parts, last = [], None
        for place in sorted(cases, key=lambda place: self._case_number[place]):
            if place[:2] != last:
                parts.append(f"<h3>{esc(' · '.join(place[:2]))}</h3>")
                last = place[:2]
            parts.append(f'<section class="case">{self._question(*place)}')
            for subject in sorted(cases[place], key=lambda s: (self._arms[s.arm], s.player)):
                text, left = self._talk(subject, left)
                parts.append(text)
            parts.append("</section>")
        text = self.say("talks.number", number=sum(len(group) for group in cases.values()))
        return Page(Markup("".join(parts)), text)

    @property
    def _case_number(self) -> dict[tuple[str, str, str], int]:
        if not hasattr(self, "_numbers"):
            keys = [(s.name, case.lang, case.id) for s in self.view.suites.values() for case in s.cases]
            self._numbers = {key: number for number, key in enumerate(keys)}
        return self._numbers

    def _question(self, suite: str, lang: str, name: str) -> str:
        case = self.view.suites[suite].case_by_key[lang, name]
        asked = "".join(
            f"<p class={'q' if message['role'] == 'user' else 'h'}>"
            f"{esc(_cut(str(message.get('content') or '…'), 'question'))}</p>"
            for message in case.messages
        )
        klass = "" if case.klass == name else f" <small>{esc(case.klass)}</small>"
        return f"<h4>{esc(name)}{klass}</h4>{asked}"

    def _talk(self, subject: Subject, left: int) -> tuple[str, int]:
        say = self.say
        back = f"{'report.html' if self.apart else ''}#g{self._arms[subject.arm]}"
        parts = [
            f'<article class="talk" id="{self.anchor(subject)}"><h5>{esc(subject.player)} '
            f'<small>{esc(subject.arm.condition)}</small> <a href="{back}">↑</a></h5>'
        ]
        for variant in self._found[subject].values():
            times = ", ".join(map(str, variant.repetitions))
            parts.append(f"<p class=rep>{esc(say('talks.repetition', numbers=times))}</p>{variant.body}")
            if len(variant.raw.encode()) <= left:
                left -= len(variant.raw.encode())
                parts.append(variant.raw)
            else:
                parts.append(f"<p class=rep>{esc(say('talks.line', line=variant.line))}</p>")
        return "".join(parts) + "</article>", left

    def _steps(self, attempt: Attempt) -> Iterator[str]:
        """Yield the user's later messages, calls with results, and texts, in their order."""
        later = self.view.suites[attempt.suite].case_by_key[attempt.lang, attempt.case_id].turns
        calls: dict[int, list[CallRecord]] = defaultdict(list)
        for call in attempt.calls:
            calls[call.turn].append(call)
        said = 0
        for turn in attempt.turns:
            if turn.user_turn > said:
                said = turn.user_turn
                yield f"<li class=u>{esc(_cut(later[said - 1].user, 'question'))}</li>"
            yield from self._turn(turn, calls[turn.index])

    def _turn(self, turn: TurnRecord, calls: Sequence[CallRecord]) -> Iterator[str]:
        if turn.decision.text:
            yield f"<li class=a>{esc(_cut(turn.decision.text, 'answer'))}</li>"
        elif not calls:
            yield f"<li class=a><em>{esc(self.say.name('kind', turn.decision.kind))}</em></li>"
        for call in calls:
            arguments = _cut(spelt_out(call.raw_arguments), "arguments")
            made = f"<b>{esc(call.tool)}</b> <code>{esc(arguments)}</code>"
            yield f"<li class=c>{made}{self._result(call)}</li>"

    def _result(self, call: CallRecord) -> str:
        if call.rejection is not None:
            told = self.say("talks.rejected", why=call.rejection)
            return f"<div class=r>{esc(told)}</div>"
        if call.result is None:
            return f"<div class=r><em>{esc(self.say('talks.no_result'))}</em></div>"
        mark = " class=e" if call.result.is_error else ""
        return f"<div class=r><code{mark}>{esc(_cut(call.result.content, 'result'))}</code></div>"

    def _finding(self, row: Any) -> str:
        say = self.say
        kind = family(row.layer)
        expected, actual = (say.name("value", _cut(str(v), "value")) for v in (row.expected, row.actual))
        compared = say("talks.compared", expected=expected, actual=actual, where=self._where(row.path))
        # The checks give their reasons in English.
        reason = f"— {row.reason}. " if say.lang == "en" and row.layer not in PLAIN else ""
        mark = f'<span class="chip f-{kind}">{esc(say("family." + kind))}</span>'
        told = f"{say.meaning(row.code)} {_cut(reason, 'answer')}"
        return (
            f"<li>{mark} {esc(told)}<span class=x>{esc(compared)}</span> "
            f'<a href="#code-{esc(row.code)}">{esc(say("talks.check"))}</a></li>'
        )

    def _where(self, path: str) -> str:
        found = _PLACE.fullmatch(path)
        if not found:
            return self.say.name("where", path)
        what = self.say("at." + found[1], number=int(found[2]) + 1)
        return f"{what}, {found[3]}" if found[3] else what

    def _raw(self, attempt: Attempt) -> str:
        if not attempt.turns:
            return ""
        texts = "\n".join(_cut(str(turn.response["text"]), "raw") for turn in attempt.turns)
        return f"<details><summary>{esc(self.say('talks.raw'))}</summary><pre>{esc(texts)}</pre></details>"


def spelt_out(raw: str) -> str:
    """Return arguments as they were sent, letters and digits in place of their escapes."""
    letters = r"(?<!\\)\\u([0-9a-fA-F]{4})"
    return re.sub(letters, lambda m: c if (c := chr(int(m[1], 16))).isalnum() else m[0], raw)


def _cut(text: str, kind: str) -> str:
    most = LONGEST[kind]
    return text if len(text) <= most else f"{text[:most]} … (+{len(text) - most})"
