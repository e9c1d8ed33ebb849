"""What the workbench lets one edit: tool descriptions, parameter descriptions and the system prompt.

A :class:`Wording` holds the texts of one suite in one language beside the committed ones. It can be played as
it is, and saved as a new version: files that are there are never touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from toolbench.domain.canonical import JSON
from toolbench.domain.condition import Condition
from toolbench.domain.contract import Overlay
from toolbench.domain.files import validate
from toolbench.domain.suite import Suite
from toolbench.errors import SuiteError
from toolbench.showing import html
from toolbench.showing.html import Page

UNSAVED = "edited"
"""Name of the variant while it has not been saved."""


@dataclass(frozen=True)
class Place:
    """Where a text belongs: the system prompt, a tool's description, or one argument's description."""

    tool: str | None = None
    argument: str | None = None

    def __str__(self) -> str:
        if self.tool is None:
            return "system prompt"
        return f"{self.tool}.{self.argument}" if self.argument else self.tool


PROMPT = Place()


@dataclass(frozen=True)
class Base:
    """The committed version that editing starts from; ``None`` is the suite's own wording."""

    descriptions: str | None = None
    prompt: str | None = None


@dataclass
class Wording:
    """Edited texts of one suite in one language.

    ``committed`` and ``texts`` map every :class:`Place` to its text; ``saved`` names the version the texts
    have been saved as, until the next edit.
    """

    suite: Suite
    lang: str
    base: Base = field(default_factory=Base)
    committed: Mapping[Place, str] = field(init=False)
    texts: dict[Place, str] = field(init=False)
    saved: str | None = None

    def __post_init__(self) -> None:
        self.committed = dict(_committed(self.suite, self.lang, self.base))
        self.texts = dict(self.committed)

    def write(self, place: Place, text: str) -> None:
        """Set one text.

        Raises
        ------
        SuiteError
            When the suite has no such place.
        """
        if place not in self.committed:
            raise SuiteError(f"suite {self.suite.name}: there is no description of {place} to edit")
        if text != self.texts[place]:
            self.texts[place] = text
            self.saved = None

    def restore(self, texts: Mapping[Place, str]) -> list[Place]:
        """Take over texts of another time; return the places among them that the suite no longer has."""
        self.texts = {**self.committed, **{place: texts[place] for place in texts if place in self.committed}}
        self.saved = None
        return [place for place in texts if place not in self.committed]

    def undo(self) -> None:
        """Go back to the committed texts."""
        self.texts = dict(self.committed)
        self.saved = None

    @property
    def changed(self) -> list[Place]:
        """Places whose text is not the committed one; blanks around the prompt do not count."""
        return [place for place in self.texts if self._final(place) != self.committed[place]]

    @property
    def variant(self) -> str:
        """Name under which the draft is played."""
        return self.saved or UNSAVED

    @property
    def arguments(self) -> Mapping[str, list[str]]:
        """Tool → its arguments that can be described."""
        tools: dict[str, list[str]] = {}
        for place in self.committed:
            if place.tool is not None:
                tools.setdefault(place.tool, []).extend([place.argument] if place.argument else [])
        return tools

    def overlay(self, name: str) -> Overlay | None:
        """Return the edited descriptions as a variant, or ``None`` when no description was edited."""
        places = [place for place in self.changed if place.tool is not None]
        if not places:
            return None
        start = self.suite.overlay(self.base.descriptions)
        tools: dict[str, Any] = {tool: dict(entry) for tool, entry in start.tools.items()} if start else {}
        for place in places:
            tool = self.suite.contract.by_name[str(place.tool)]
            entry = tools.setdefault(tool.name, {})
            if place.argument:
                entry["parameters"] = {**entry.get("parameters", {}), place.argument: self.texts[place]}
            else:
                worded = start.apply(tool) if start else tool
                entry["description"] = {**worded.description, self.lang: self.texts[place]}
        note = f"Written in the workbench, starting from {self.base.descriptions or 'the contract'}."
        source: dict[str, JSON] = {"version": self.suite.contract.version, "note": note, "tools": tools}
        validate(source, "overlay", f"descriptions.{name}.json")
        return Overlay(name=name, tools=tools, source=source)

    def prompt(self) -> str | None:
        """Return the edited system prompt, or ``None`` when it was not edited."""
        return self._final(PROMPT) if PROMPT in self.changed else None

    def apply(self) -> Suite:
        """Return the suite with the draft as one more variant of it."""
        overlay, prompt, name = self.overlay(self.variant), self.prompt(), self.variant
        return replace(
            self.suite,
            overlays={**self.suite.overlays, **({name: overlay} if overlay else {})},
            prompts={**self.suite.prompts, **({f"{self.lang}.{name}": prompt} if prompt is not None else {})},
        )

    def condition(self, like: Condition, variant: str | None = None) -> Condition:
        """Return a condition in the edited wording; only what was edited is taken from the draft."""
        name = variant or self.variant
        tools = any(place.tool for place in self.changed)
        return replace(
            like,
            name=f"{like.name}-{name}",
            descriptions=name if tools else like.descriptions or self.base.descriptions,
            prompt=name if PROMPT in self.changed else like.prompt or self.base.prompt,
        )

    def _final(self, place: Place) -> str:
        # A prompt file is read without the blanks around it, so these cannot be a change.
        return self.texts[place].strip() if place == PROMPT else self.texts[place]


def _committed(suite: Suite, lang: str, base: Base) -> Iterator[tuple[Place, str]]:
    overlay = suite.overlay(base.descriptions)
    for tool in suite.contract.tools:
        worded = overlay.apply(tool) if overlay else tool
        yield Place(tool.name), worded.described(lang)
        for name, schema in worded.properties.items():
            yield Place(tool.name, name), str(schema.get("description", ""))
    yield PROMPT, suite.prompt(lang, base.prompt)


def played(suite: Suite, lang: str, condition: Condition) -> Mapping[Place, str]:
    """Return every text that a condition of a run gave to a model."""
    return Wording(suite, lang, Base(condition.descriptions, condition.prompt)).committed


def changes(draft: Wording) -> Page:
    """Return every edited text, compared word by word with the committed one."""
    if not draft.changed:
        return html.paragraph("Nothing is changed: the texts are those of the committed version.", "note")
    pages = []
    for place in draft.changed:
        pages.append(html.heading(str(place), 4))
        pages.append(html.difference(draft.committed[place], draft.texts[place]))
    return html.join(pages)
