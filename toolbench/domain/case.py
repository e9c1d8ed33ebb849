"""Cases: one scenario each, and the behaviour expected in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from toolbench.domain.canonical import JSON, sha256

Kind = Literal["tool_call", "clarification", "text", "refusal"]


@dataclass(frozen=True)
class ValueRule:
    """How the value at a path is compared, in place of equality; the strict figure follows it as well.

    Attributes
    ----------
    any
        Whatever stands there is right.
    regex, contains
        What a text must match somewhere; pieces of a text, or items of a list, that must occur.
    tolerance, relative
        How far a number may be off: in its own unit, and as a share of the expected one; the larger counts.
    unordered
        Whether a list may come in any order.
    normalizer
        Name of the normaliser that both sides go through first.
    """

    any: bool = False
    regex: str | None = None
    contains: Sequence[JSON] = ()
    tolerance: float = 0.0
    relative: float = 0.0
    unordered: bool = False
    normalizer: str | None = None

    @property
    def free(self) -> bool:
        """Whether values are right that nobody can derive from the conversation."""
        return self.any or self.regex is not None or bool(self.contains)


Compare = Mapping[str, ValueRule]
"""Path → rule. A path is ``name``, ``address.city`` or ``items[].price`` (every item of a list)."""


@dataclass(frozen=True)
class ExpectedCall:
    """A call that must be made; of a forbidden one, what of a call is looked at.

    Attributes
    ----------
    arguments
        The expected arguments, all of them; where ``compare`` admits more, an example.
    accept
        Path → further values that are as good as the expected one.
    optional
        Paths that may be left out.
    match
        Which comparison decides (the other figure is reported as well).
    compare
        Rules by path.
    others
        Calls that are as good as this one.
    at_least, at_most
        How often it is due, and how often it may be made; ``None`` sets no limit.
    """

    tool: str
    arguments: Mapping[str, JSON]
    accept: Mapping[str, Sequence[JSON]] = field(default_factory=dict)
    optional: Sequence[str] = ()
    match: Literal["exact", "normalized"] = "exact"
    compare: Compare = field(default_factory=dict)
    others: tuple[ExpectedCall, ...] = ()
    at_least: int = 1
    at_most: int | None = 1

    @classmethod
    def from_json(cls, data: Mapping[str, Any], compare: Compare) -> ExpectedCall:
        """Build from an entry of ``calls``; ``compare`` are the rules of the whole case."""
        plain = {key: value for key, value in data.items() if key not in ("or", "compare")}
        plain.setdefault("arguments", {})
        if "at_least" in plain and "at_most" not in plain:
            plain["at_most"] = max(1, plain["at_least"])
        return cls(
            **plain,
            compare={**compare, **_rules(data)},
            others=tuple(cls.from_json(other, compare) for other in data.get("or", ())),
        )

    @property
    def alternatives(self) -> tuple[ExpectedCall, ...]:
        """This call and those that are as good."""
        return (self, *self.others)

    @property
    def tools(self) -> tuple[str, ...]:
        """Tools of which one is due, the first choice first."""
        return tuple(dict.fromkeys(call.tool for call in self.alternatives))

    def leaves_open(self, argument: str) -> bool:
        """Whether a rule lets values of an argument pass that nobody can derive."""
        return any(
            rule.free and re.split(r"[.\[]", path)[0] == argument for path, rule in self.compare.items()
        )

    @property
    def named(self) -> str:
        """What is due, as one reads it."""
        return " or ".join(self.tools)


def _rules(data: Mapping[str, Any]) -> dict[str, ValueRule]:
    return {path: ValueRule(**rule) for path, rule in data.get("compare", {}).items()}


@dataclass(frozen=True)
class ExpectedObject:
    """Something in the world of the tools (:mod:`toolbench.domain.world`), by the fields that matter."""

    object: str
    fields: Mapping[str, JSON]
    accept: Mapping[str, Sequence[JSON]] = field(default_factory=dict)
    compare: Compare = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: Mapping[str, Any], compare: Compare) -> ExpectedObject:
        """Build from an entry of ``written`` or ``never``."""
        plain = {"fields": {}, **data}
        return cls(**{**plain, "compare": {**compare, **_rules(data)}})


@dataclass(frozen=True)
class EndState:
    """What must have been written when the conversation is over, whatever the path to it.

    ``never`` must not be there at any moment; with ``nothing_else``, neither may anything beside ``written``.
    """

    written: tuple[ExpectedObject, ...] = ()
    never: tuple[ExpectedObject, ...] = ()
    nothing_else: bool = False

    @classmethod
    def from_json(cls, data: Mapping[str, Any], compare: Compare) -> EndState:
        """Build from a case's ``end_state``: who lists what is written means all of it."""
        return cls(
            written=tuple(ExpectedObject.from_json(one, compare) for one in data.get("written", ())),
            never=tuple(ExpectedObject.from_json(one, compare) for one in data.get("never", ())),
            nothing_else=data.get("nothing_else", "written" in data),
        )


@dataclass(frozen=True)
class Final:
    """What the answer after the tool results must state, and what it must answer."""

    facts: Sequence[Sequence[str]] = ()
    answers: Sequence[Sequence[str]] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Final:
        """Build from a case's ``final``; runs of earlier versions hold ``no_claims``, which nothing reads."""
        return cls(data.get("facts", ()), data.get("answers", ()))


@dataclass(frozen=True)
class Recovery:
    """What to do after a tool answered with an error."""

    kinds: tuple[Kind, ...]
    forbidden_tools: Sequence[str] = ()
    contains_any: Sequence[str] = ()


@dataclass(frozen=True)
class Expectation:
    """Behaviour expected in answer to one user message, up to the final text."""

    kinds: tuple[Kind, ...]
    calls: tuple[ExpectedCall, ...] = ()
    order: Literal["any", "strict"] = "any"
    parallel: Literal["required", "allowed", "forbidden"] | None = None
    must_not_call: bool = False
    forbidden_tools: Sequence[str] = ()
    forbidden_calls: tuple[ExpectedCall, ...] = ()
    missing_fields: Sequence[str] = ()
    contains_any: Sequence[str] = ()
    final: Final | None = None
    recovery: Recovery | None = None

    @property
    def call_required(self) -> bool:
        """Whether only a call is right."""
        return self.kinds == ("tool_call",)

    @property
    def call_allowed(self) -> bool:
        """Whether a call can be right."""
        return "tool_call" in self.kinds and not self.must_not_call

    @classmethod
    def from_json(cls, data: Mapping[str, Any], compare: Compare) -> Expectation:
        """Build from a case's ``expect`` object (already valid against the case schema)."""
        built = ("kind", "calls", "forbidden_calls", "final", "recovery")
        rest = {key: value for key, value in data.items() if key not in built}
        recovery = data.get("recovery")
        return cls(
            kinds=_kinds(data["kind"]),
            calls=tuple(ExpectedCall.from_json(call, compare) for call in data.get("calls", ())),
            forbidden_calls=tuple(
                ExpectedCall.from_json(call, compare) for call in data.get("forbidden_calls", ())
            ),
            final=Final.from_json(data["final"]) if "final" in data else None,
            recovery=(
                Recovery(
                    **{
                        **{k: v for k, v in recovery.items() if k != "kind"},
                        "kinds": _kinds(recovery["kind"]),
                    }
                )
                if recovery
                else None
            ),
            **rest,
        )


def _kinds(value: Kind | Sequence[Kind]) -> tuple[Kind, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


@dataclass(frozen=True)
class Reply:
    """What the user answers when a slot is asked for, and words that ask for it beside the tool's own."""

    text: str
    words: Sequence[str] = ()


Replies = Mapping[str, Reply]
"""Argument → the answer to a question for it."""


def _replies(data: Mapping[str, Any]) -> Replies:
    return {
        slot: Reply(said) if isinstance(said, str) else Reply(said["reply"], said.get("words", ()))
        for slot, said in data.get("on_ask", {}).items()
    }


@dataclass(frozen=True)
class FollowUp:
    """A later user message and the behaviour expected after it.

    Attributes
    ----------
    user
        The message; empty where the user only answers what was asked before (``on_ask``).
    on_ask
        Answers to questions, each given once; a conversation in which nothing of it is asked ends here, or
        at the next text where there is a message.
    tools
        Tools that are on offer from here on.
    """

    user: str
    expect: Expectation
    on_ask: Replies = field(default_factory=dict)
    tools: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operation:
    """A call that was completed before the conversation."""

    tool: str
    arguments: Mapping[str, JSON]


@dataclass(frozen=True)
class Permissions:
    """Facts about the user that only the orchestrator knows (``policy`` of a case).

    ``owned`` maps an argument to the values that belong to the user; ``permitted`` names the write tools the
    user may run (``None``: all), ``confirmed`` those already confirmed.
    """

    owned: Mapping[str, Sequence[JSON]] = field(default_factory=dict)
    permitted: Sequence[str] | None = None
    confirmed: Sequence[str] = ()
    done: Sequence[Operation] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Permissions:
        """Build from a case's ``policy`` object."""
        return cls(**{**data, "done": tuple(Operation(**one) for one in data.get("done", ()))})


@dataclass(frozen=True)
class Case:
    """One scenario.

    Attributes
    ----------
    messages
        The canonical history the conversation starts from; its last entry is a user message or tool results.
    tools
        Names on offer at the start; ``None`` stands for all but those that appear later.
    own_tools
        Tools the case brings itself, as a contract writes them; one takes the place of its namesake.
    contract
        Another suite's contract in place of the suite's own.
    system
        A system prompt in place of the suite's, whatever the variant.
    on_ask
        What the user answers when the model asks before it acts.
    end_state
        What must have been written in the end.
    source
        The case as written; it decides the hash.
    """

    id: str
    klass: str
    lang: str
    messages: tuple[Mapping[str, JSON], ...]
    expect: Expectation
    turns: tuple[FollowUp, ...]
    tools: tuple[str, ...] | None
    context: Mapping[str, JSON]
    policy: Permissions
    tags: frozenset[str]
    source: Mapping[str, JSON]
    own_tools: tuple[Mapping[str, JSON], ...] = ()
    contract: str | None = None
    system: str | None = None
    on_ask: Replies = field(default_factory=dict)
    end_state: EndState | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Case:
        """Build from one line of a case file (already valid against the case schema)."""
        messages = data.get("messages") or [{"role": "user", "content": data["user"]}]
        tools, turns, compare = data.get("tools"), data.get("turns", ()), _rules(data)
        listed = [*(tools or ()), *(tool for turn in turns for tool in turn.get("tools", ()))]
        return cls(
            id=data["id"],
            klass=data["class"],
            lang=data["lang"],
            messages=tuple(messages),
            expect=Expectation.from_json(data["expect"], compare),
            turns=tuple(
                FollowUp(
                    user=turn.get("user", ""),
                    expect=Expectation.from_json(turn["expect"], compare),
                    on_ask=_replies(turn),
                    tools=_names(turn.get("tools", ())),
                )
                for turn in turns
            ),
            tools=_names(tools) if tools is not None else None,
            context=data.get("context", {}),
            policy=Permissions.from_json(data.get("policy", {})),
            tags=frozenset(data.get("tags", ())),
            source=data,
            own_tools=tuple(tool for tool in listed if not isinstance(tool, str)),
            contract=data.get("contract"),
            system=data.get("system"),
            on_ask=_replies(data),
            end_state=EndState.from_json(data["end_state"], compare) if "end_state" in data else None,
        )

    def offered(self, known: Iterable[str], turn: int | None = None) -> tuple[str, ...]:
        """Return the names on offer after a user message: 0 is the first one, ``None`` the last.

        Parameters
        ----------
        known
            All names of the contract.
        """
        later = self.turns if turn is None else self.turns[:turn]
        to_come = {name for one in self.turns for name in one.tools}
        start = self.tools if self.tools is not None else [name for name in known if name not in to_come]
        return tuple(dict.fromkeys([*start, *(name for one in later for name in one.tools)]))

    @property
    def brought(self) -> tuple[str, ...]:
        """Names of the tools the case brings itself."""
        return _names(self.own_tools)

    def replies(self, turn: int) -> Replies:
        """Return the answers to questions that a user message has behind it."""
        return self.turns[turn - 1].on_ask if turn else self.on_ask

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the case as written."""
        return sha256(dict(self.source))

    @cached_property
    def scenario(self) -> str:
        """What the case is a variant of: the id of its base case, or its own.

        Variants share facts and wording, so what happens on them is not independent.
        """
        origin = self.source.get("origin") or {}
        name, made = (
            (origin["case_id"], origin["case_origin"]) if "case_origin" in origin else (self.id, origin)
        )
        return str(name).partition(f".{made['rule']}-")[0] if made and "rule" in made else str(name)

    @property
    def draft(self) -> bool:
        """Whether nobody has confirmed the case yet; it is neither run nor counted then."""
        return bool(self.source.get("draft", False))

    @property
    def chain_due(self) -> bool:
        """Whether something is to be carried through: calls that are listed, or an end state."""
        return bool(self.expect.calls) or bool(self.end_state and self.end_state.written)

    @property
    def starts_after_result(self) -> bool:
        """Whether the model's first turn is already the answer to a tool result."""
        return bool(self.messages[-1]["role"] == "tool")

    @property
    def user_texts(self) -> tuple[str, ...]:
        """Everything the user says unasked, in order."""
        said = [str(m["content"]) for m in self.messages if m["role"] == "user"]
        return tuple(said + [turn.user for turn in self.turns if turn.user])


def _names(tools: Sequence[Any]) -> tuple[str, ...]:
    return tuple(tool if isinstance(tool, str) else str(tool["name"]) for tool in tools)
