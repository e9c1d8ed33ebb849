"""Which suite and which case a saved conversation belongs to.

Conversations share a suite as long as a name means the same tool in all of them; another tool under the same
name opens a further suite.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from toolbench.authoring.importing import chosen, from_values
from toolbench.authoring.importing.material import Material
from toolbench.authoring.importing.writing import PROMPTS
from toolbench.authoring.traces.recording import Recorded, case_of, joined, record
from toolbench.authoring.traces.saved import Saved
from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.case import Case
from toolbench.domain.contract import Contract, ToolSpec
from toolbench.domain.files import validate
from toolbench.domain.keys import PlayerKey
from toolbench.domain.rules import NO_RULES
from toolbench.domain.suite import Suite
from toolbench.domain.tool_script import NO_SCRIPT
from toolbench.errors import SuiteError

NAME = "imported"
NO_TOOLS = (
    "left out: it does not tell which tools were on offer; --tools FILE or --suite NAME says which there are"
)
OWN_PROMPT = "(Every conversation brings its own system prompt; it is in the context of its case.)"


@dataclass(frozen=True)
class Placed:
    """A conversation with its place in a run."""

    player: PlayerKey
    suite: str
    lang: str
    case_id: str
    made: Recorded
    joined: bool


@dataclass(frozen=True)
class Offered:
    """One list of tools: their entries, what they are called here, and the wire's names for that."""

    entries: Mapping[str, JSON]
    names: Mapping[str, str]


@dataclass
class Shelf:
    """A suite in the making."""

    name: str
    given: Suite | None = None
    entries: dict[str, JSON] = field(default_factory=dict)
    cases: dict[tuple[str, str], JSON] = field(default_factory=dict)
    talks: list[tuple[Saved, Offered]] = field(default_factory=list)
    _known: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Names of the tools there are."""
        return list(self.suite.contract.by_name) if self.given else list(self.entries)

    def fits(self, offered: Offered) -> bool:
        """Whether every name means the same here."""
        return all(self.entries.get(name, entry) == entry for name, entry in offered.entries.items())

    @cached_property
    def suite(self) -> Suite:
        """The suite without its cases; asked for when all its tools are known."""
        if self.given is not None:
            return self.given
        tools = {"version": "imported", "tools": list(self.entries.values())}
        contract = Contract.from_json(tools, f"suite {self.name}")
        return Suite(self.name, contract, dict.fromkeys(PROMPTS, OWN_PROMPT), NO_SCRIPT, NO_RULES, {}, ())

    def finished(self) -> Suite:
        """Return the suite with the cases that were played."""
        return replace(self.suite, cases=tuple(Case.from_json(case) for case in self.cases.values()))

    def case_id(self, case: Mapping[str, JSON], wanted: str | None, place: str) -> str:
        """Keep a case and return its id: the wanted one, or with a number where that is another case's.

        Without a wish the same words to the same tools are the same case, whoever answered them.
        """
        name = wanted or self._known.setdefault(canonical_json(case), _plain(place))
        wanted, number = name, 1
        while True:
            full = {"id": name, **case}
            kept = self.cases.setdefault((str(case["lang"]), name), full)
            if kept == full:
                return name
            number += 1
            name = f"{wanted}.{number}"


class Placing:
    """Sorts conversations into suites and cases.

    Parameters
    ----------
    suite, tools
        What there is to call, where the conversations shall not decide that.
    lang
        Language of all.
    effects
        Effects of tools that were told.
    """

    def __init__(
        self, suite: Suite | None, tools: Sequence[JSON] | None, lang: str | None, effects: Sequence[str]
    ) -> None:
        self._given, self._lang, self._effects = suite, lang, effects
        self._default = None if tools is None else _offered(Material("", tools))
        self._written: dict[str, list[JSON]] = {}
        self._read: dict[str, Offered | None] = {}
        self._lost: Counter[str] = Counter()
        self.shelves: list[Shelf] = [] if suite is None else [Shelf(suite.name, suite)]
        if suite is not None:
            self.expect([dict(case.source) for case in suite.cases])

    @property
    def remarks(self) -> list[str]:
        """What was left out or changed, equal reasons once."""
        return [text if times == 1 else f"{text} ({times} times)" for text, times in self._lost.items()]

    @property
    def guesses(self) -> list[str]:
        """What nobody said about the tools."""
        if self._given is not None:
            return []
        return list(
            dict.fromkeys(
                line for shelf in self.shelves for line in Material("", list(shelf.entries.values())).guesses
            )
        )

    def expect(self, cases: Sequence[JSON]) -> None:
        """Take written cases, which judge the conversations with their ids as keys."""
        for case in cases:
            self._written.setdefault(case["id"], []).append(case)

    def add(self, saved: Saved) -> None:
        """Put a conversation on its shelf."""
        offered = self._offered(saved)
        if offered is None:
            return
        if self._given is not None:
            self.shelves[0].talks.append((saved, offered))
            return
        shelf = next((one for one in self.shelves if one.fits(offered)), None)
        if shelf is None:
            number = len(self.shelves) + 1
            shelf = Shelf(NAME if number == 1 else f"{NAME}_{number}")
            self.shelves.append(shelf)
        shelf.entries |= offered.entries
        shelf.talks.append((saved, offered))

    def placed(self) -> list[Placed]:
        """Read every conversation against its suite and give it its case."""
        return [
            made
            for shelf in self.shelves
            for saved, offered in shelf.talks
            if (made := self._place(shelf, saved, offered))
        ]

    def _offered(self, saved: Saved) -> Offered | None:
        """Return the tools of a conversation, read once for all that have the same."""
        if self._given is not None:
            return Offered({}, {})
        if not saved.tools:
            if self._default is None:
                self._lost[NO_TOOLS if len(self._lost) else f"{saved.where}: {NO_TOOLS}"] += 1
            return self._default
        mark = canonical_json(list(saved.tools))
        if mark not in self._read:
            self._read[mark] = self._understood(saved)
        return self._read[mark]

    def _understood(self, saved: Saved) -> Offered | None:
        try:
            material = from_values([list(saved.tools or ())], saved.where)
            here = [text for text in self._effects if text.partition("=")[0] in material.names.values()]
            material = chosen(material, (), here)
        except SuiteError as fault:
            self._lost[f"left out: {fault}"] += 1
            return None
        for remark in material.remarks:
            self._lost[remark] += 1
        return _offered(material)

    def _place(self, shelf: Shelf, saved: Saved, offered: Offered) -> Placed | None:
        written = self._case_for(saved)
        tools = self._tools(shelf, saved, offered, written)
        opening = (written or {}).get("messages", ())
        made = record(saved, tools, offered.names, opening)
        if not made.users or not (made.turns or made.error):
            self._lost[f"{saved.where}: left out: no user's message with a reply to it"] += 1
            return None
        case = joined(written, made) if written else case_of(saved, made, [t.name for t in tools], self._lang)
        wanted = case.pop("id", None) or (_plain(saved.key) if saved.key else None)
        try:
            validate({"id": wanted or "unnamed", **case}, "case", saved.where)
        except SuiteError as fault:
            self._lost[f"left out: {fault}"] += 1
            return None
        if written and written.get("user") != case.get("user"):
            self._lost["changed: another user's text than the case's; what was really said is judged"] += 1
        lang = str(case["lang"])
        protocol = saved.answers[0].protocol
        player = PlayerKey(saved.provider, saved.model, protocol)
        name = shelf.case_id(case, wanted, saved.where)
        return Placed(player, shelf.name, lang, name, made, written is not None)

    def _case_for(self, saved: Saved) -> JSON:
        found = self._written.get(saved.key or "", [])
        if not found and saved.key is not None and self._written:
            self._lost[f"{saved.key}: no case of that id; judged without an expectation"] += 1
        return next((case for case in found if case["lang"] == self._lang), found[0] if found else None)

    def _tools(self, shelf: Shelf, saved: Saved, offered: Offered, written: JSON) -> list[ToolSpec]:
        """Return the tools that were on offer, as the suite has them."""
        by_name = shelf.suite.contract.by_name
        if self._given is None:
            return [by_name[name] for name in offered.entries]
        listed = _wire_names(saved)
        for name in listed - set(by_name):
            self._lost[f"{name}: left out: no tool of the suite {shelf.name}"] += 1
        wanted = listed or set((written or {}).get("tools") or by_name)
        return [tool for name, tool in by_name.items() if name in wanted]


def _wire_names(saved: Saved) -> set[str]:
    """Return the names of the tools that a conversation lists."""
    if not saved.tools:
        return set()
    try:
        return set(from_values([list(saved.tools)], saved.where).names)
    except SuiteError:
        return set()


def _offered(material: Material) -> Offered:
    renamed = {old: new for old, new in material.names.items() if old != new}
    return Offered({tool["name"]: tool for tool in material.tools}, renamed)


def _plain(text: str) -> str:
    """Return an id from a key or a place."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_.-")[:90]
    return name or "conversation"
