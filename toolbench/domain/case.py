"""Cases: one scenario each, and the behaviour expected in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from toolbench.domain.canonical import JSON, sha256

Kind = Literal["tool_call", "clarification", "text", "refusal"]


@dataclass(frozen=True)
class ExpectedCall:
    """One call that must be made.

    ``accept`` lists further values that are as good as the expected one, ``optional`` names arguments that
    may be left out, ``match`` says which comparison decides (the other figure is reported as well).
    """

    tool: str
    arguments: Mapping[str, JSON]
    accept: Mapping[str, Sequence[JSON]] = field(default_factory=dict)
    optional: Sequence[str] = ()
    match: Literal["exact", "normalized"] = "exact"


@dataclass(frozen=True)
class Final:
    """What the answer after the tool results must state, must not claim, and must answer."""

    facts: Sequence[Sequence[str]] = ()
    no_claims: Sequence[str] = ()
    answers: Sequence[Sequence[str]] = ()


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
    def from_json(cls, data: Mapping[str, Any]) -> Expectation:
        """Build from a case's ``expect`` object (already valid against the case schema)."""
        rest = {
            key: value for key, value in data.items() if key not in ("kind", "calls", "final", "recovery")
        }
        recovery = data.get("recovery")
        return cls(
            kinds=_kinds(data["kind"]),
            calls=tuple(ExpectedCall(**call) for call in data.get("calls", ())),
            final=Final(**data["final"]) if "final" in data else None,
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
class FollowUp:
    """A later user message and the behaviour expected after it."""

    user: str
    expect: Expectation


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

    ``messages`` is the canonical history the conversation starts from; its last entry is a user message or
    tool results. ``source`` is the case as written and decides the hash.
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

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Case:
        """Build from one line of a case file (already valid against the case schema)."""
        messages = data.get("messages") or [{"role": "user", "content": data["user"]}]
        tools = data.get("tools")
        return cls(
            id=data["id"],
            klass=data["class"],
            lang=data["lang"],
            messages=tuple(messages),
            expect=Expectation.from_json(data["expect"]),
            turns=tuple(
                FollowUp(user=turn["user"], expect=Expectation.from_json(turn["expect"]))
                for turn in data.get("turns", ())
            ),
            tools=tuple(tools) if tools is not None else None,
            context=data.get("context", {}),
            policy=Permissions.from_json(data.get("policy", {})),
            tags=frozenset(data.get("tags", ())),
            source=data,
        )

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
    def starts_after_result(self) -> bool:
        """Whether the model's first turn is already the answer to a tool result."""
        return bool(self.messages[-1]["role"] == "tool")

    @property
    def user_texts(self) -> tuple[str, ...]:
        """Everything the user says, in order."""
        said = [str(m["content"]) for m in self.messages if m["role"] == "user"]
        return tuple(said + [turn.user for turn in self.turns])
