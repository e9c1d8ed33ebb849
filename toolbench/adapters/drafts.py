"""A request in the making: settings and tools on their way to the wire, and what became of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from toolbench.adapters.profiles import Dialect, dialect_of
from toolbench.adapters.schemas import InexpressibleError, over_limits, rules_named, translate
from toolbench.adapters.wire import Offer, Request, SettingNote
from toolbench.domain.canonical import JSON
from toolbench.domain.config import ModelConfig
from toolbench.domain.contract import ToolSpec
from toolbench.errors import SuiteError, TransportError


@dataclass(frozen=True)
class OfferedTool:
    """A tool as a wire takes it: wire name, wording, schema, and the strict flag where there is one."""

    name: str
    description: str
    schema: dict[str, Any]
    strict: bool | None


@dataclass(frozen=True)
class Choice:
    """How the model may choose: ``mode`` is ``auto``, ``none``, ``required``, ``named`` or ``allowed``.

    ``names`` are the wire names of the tool that is forced or of the tools that may be called.
    """

    mode: str
    names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The one tool that is forced."""
        return self.names[0]


@lru_cache(maxsize=4096)
def _translated(tool: ToolSpec, lang: str, rules: str) -> tuple[dict[str, Any], list[str]]:
    """Return a tool's schema on a wire and what was lost; kept: every request of a run has the same tools."""
    return translate(tool.parameters_in(lang), rules_named(rules), tool.name)


@dataclass
class Draft:
    """The body of a request, filled setting by setting."""

    model: ModelConfig
    names: Mapping[str, str]
    body: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, SettingNote] = field(default_factory=dict)
    losses: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dialect: Dialect = dialect_of(self.model)
        self.body = {**deepcopy(dict(self.dialect.body)), **self.body}

    def put(self, setting: str, value: JSON, spelled: JSON = None, possible: bool = True) -> None:
        """Put a setting that was asked for where the dialect has it, and note what became of it.

        A setting that the wire does not have, that this request cannot carry or that the model refuses is
        left out; ``spelled`` is the wire's own form of the value where that differs.
        """
        if value is None:
            return
        field_ = self.dialect.fields.get(setting)
        state, _ = self.dialect.state(self.model, setting, value)
        sent = field_ is not None and possible and state != "unsupported"
        if field_ is not None and sent:
            _set(self.body, field_, value if spelled is None else spelled)
        self.notes[setting] = SettingNote(
            asked=value, sent=value if sent else None, honoured=None if sent and state != "ignored" else False
        )

    def put_parallel(self, offer: Offer, opposite: bool = False, possible: bool = True) -> None:
        """Put whether several calls in one turn are allowed; ``opposite``: the wire's switch forbids them.

        Raises
        ------
        TransportError
            When the condition asks for it and it cannot be said.
        """
        if not offer.tools or self._omits_tools(offer):
            return
        asked = self.model.settings.parallel_tool_calls if offer.parallel is None else offer.parallel
        self.put("parallel_tool_calls", asked, spelled=not asked if opposite else asked, possible=possible)
        note = self.notes.get("parallel_tool_calls")
        if offer.parallel is not None and note is not None and note.honoured is False:
            raise _unsupported(
                "parallel_switch_unsupported", f"{self.model.model} has no switch for parallel calls"
            )

    def put_sampling(self) -> None:
        """Put the settings that every protocol treats alike."""
        settings = self.model.settings
        self.put("max_output_tokens", settings.max_output_tokens)
        self.put("temperature", settings.temperature)
        self.put("seed", settings.seed)

    def tools(self, offer: Offer) -> list[OfferedTool]:
        """Return the tools to send, translated for this wire; losses and the strict flag are noted.

        Raises
        ------
        TransportError
            When the model is known to take no tools in this configuration, or the wire cannot express one.
        """
        if not offer.tools:
            return []
        state, why = self.dialect.state(self.model, "tools", None)
        if state == "unsupported":
            raise _unsupported("tools_unsupported", f"{self.model.model} takes no tools here: {why}")
        strict = self._strict()
        rules = rules_named((strict and self.dialect.strict_rules) or self.dialect.schema_rules)
        to_wire = {canonical: wire for wire, canonical in self.names.items()}
        offered = []
        for tool in self._shown(offer):
            try:
                schema, losses = _translated(tool, offer.lang, rules.name)
            except InexpressibleError as fault:
                raise TransportError("schema_inexpressible", str(fault), unsupported=True) from None
            self.losses += losses
            wire = to_wire[offer.names[tool.name]]
            offered.append(OfferedTool(wire, tool.described(offer.lang), schema, strict))
        if strict:
            self.losses += over_limits([tool.schema for tool in offered], rules)
        return offered

    def choose(self, offer: Offer, spell: Callable[[Choice], JSON]) -> None:
        """Put the tool choice; ``spell`` gives it the wire's form.

        Raises
        ------
        TransportError
            When a call is to be forced, or the tools limited, where that is refused, ignored or cannot be
            said: what would be played is not what was asked for.
        SuiteError
            When the tool to be forced is not on offer.
        """
        if not offer.tools:
            return
        mode, _, named = offer.choice.partition(":")
        to_wire = {canonical: wire for wire, canonical in self.names.items()}
        names = tuple(to_wire.get(name, "") for name in named.split(",")) if named else ()
        if mode in ("named", "allowed") and not (names and all(names)):
            raise SuiteError(f"tool choice {offer.choice!r}: no such tool is on offer")
        where = self.dialect.fields["tool_choice"]
        state, why = self.dialect.state(self.model, "tool_choice", mode)
        if mode in ("required", "named", "allowed"):
            self._check_choice(mode, state, why, where is not None)
        if self._omits_tools(offer):
            self.notes["tool_choice"] = SettingNote(asked="none", sent="no tools")
        elif where is None or state == "unsupported":
            # Automatic is what such a wire does anyway.
            self.notes["tool_choice"] = SettingNote(offer.choice, None)
        else:
            offer_only = mode == "named" and self.dialect.named_choice == "offer_only"
            value = spell(Choice("required") if offer_only else Choice(mode, names))
            _set(self.body, where, value)
            self.notes["tool_choice"] = SettingNote(
                offer.choice, value, False if state == "ignored" else None
            )

    def _check_choice(self, mode: str, state: str, why: str, sendable: bool) -> None:
        model = self.model.model
        if state == "unsupported":
            raise _unsupported("forced_choice_refused", f"{model} refuses the choice {mode!r}: {why}")
        if state == "ignored" or not sendable:
            raise _unsupported(
                "forced_choice_ignored",
                f"{model} ignores the choice {mode!r}: {why or 'the wire has no such field'}",
            )
        if mode == "allowed" and not self.dialect.allowed_choice:
            raise _unsupported("allowed_tools_unsupported", f"{model} has no list of allowed tools")

    def finish(self, path: str, stream: bool) -> Request:
        """Return the request with the configuration's ``extra_body`` laid over it and ``omit`` taken out."""
        _merge(self.body, self.model.extra_body)
        for field_ in self.model.omit:
            _remove(self.body, field_)
        for setting in ("max_output_tokens", "temperature", "seed"):
            where = self.dialect.fields.get(setting)
            actual = _get(self.body, where) if where else None
            if setting in self.notes and actual != self.notes[setting].sent:
                honoured = None if actual is not None else False
                self.notes[setting] = replace(self.notes[setting], sent=actual, honoured=honoured)
        return Request(
            path=path,
            body=self.body,
            headers=laid_over(self.dialect.headers, self.model.public_headers),
            settings=self.notes,
            tool_names=dict(self.names),
            losses=tuple(self.losses),
            stream=stream,
        )

    def _shown(self, offer: Offer) -> tuple[ToolSpec, ...]:
        if self._omits_tools(offer):
            return ()
        if offer.choice.startswith("named:") and self.dialect.named_choice == "offer_only":
            named = offer.choice.removeprefix("named:")
            return tuple(tool for tool in offer.tools if offer.names[tool.name] == named)
        return offer.tools

    def _omits_tools(self, offer: Offer) -> bool:
        """Whether choice none has to be said by offering nothing."""
        state, _ = self.dialect.state(self.model, "tool_choice", offer.choice)
        return offer.choice == "none" and (self.dialect.none_choice == "omit_tools" or state == "unsupported")

    def _strict(self) -> bool | None:
        """Return the strict flag to send, noting it."""
        asked = self.model.settings.strict
        if asked is None:
            return self.dialect.strict_default
        state, _ = self.dialect.state(self.model, "strict", asked)
        sent = self.dialect.fields["strict"] is not None and state != "unsupported"
        honoured = None if sent and state != "ignored" else False
        self.notes["strict"] = SettingNote(asked, asked if sent else None, honoured)
        return asked if sent else self.dialect.strict_default


def _unsupported(code: str, message: str) -> TransportError:
    hint = "; if that is out of date, say so under capabilities"
    return TransportError(code, message + hint, unsupported=True)


def _set(body: dict[str, Any], path: str, value: JSON) -> None:
    *outer, last = path.split(".")
    for key in outer:
        body = body.setdefault(key, {})
    body[last] = value


def _remove(body: dict[str, Any], path: str) -> None:
    *outer, last = path.split(".")
    for key in outer:
        inner = body.get(key)
        if not isinstance(inner, dict):
            return
        body = inner
    body.pop(last, None)


def laid_over(headers: Mapping[str, str], more: Mapping[str, str | None]) -> dict[str, str]:
    """Return headers with others laid over them: names have no case, and ``None`` takes a header out."""
    changed = {name.lower() for name in more}
    kept = {name: value for name, value in headers.items() if name.lower() not in changed}
    return {**kept, **{name: value for name, value in more.items() if value is not None}}


def _get(body: JSON, path: str) -> JSON:
    for key in path.split("."):
        body = body.get(key) if isinstance(body, Mapping) else None
    return body


def _merge(body: dict[str, Any], extra: Mapping[str, JSON]) -> None:
    """Lay one object over another; objects inside are merged, all else is replaced."""
    for key, value in extra.items():
        if isinstance(value, Mapping) and isinstance(body.get(key), dict):
            _merge(body[key], value)
        else:
            body[key] = deepcopy(value)
