"""What a run writes: one header line, then one attempt a line. Everything later is computed from these.

``schemas/record.schema.json`` describes both kinds of line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache, lru_cache
from itertools import groupby
from typing import Any, Literal

from toolbench.domain.canonical import JSON, sha256
from toolbench.domain.condition import Condition, Selection
from toolbench.domain.decision import ModelDecision
from toolbench.domain.keys import AttemptKey, PlayerKey
from toolbench.domain.suite import Suite

FORMAT = 1
Status = Literal["ok", "transport_error", "unsupported", "budget", "judge_error"]
"""How an attempt ended; ``judge_error`` means that toolbench itself could not play or judge it."""


@dataclass(frozen=True)
class ToolResult:
    """What the executor answered to one call.

    ``content`` is the text handed to the model (size-capped: ``cut_from`` is its length before the cut),
    ``value`` the structured result behind it, ``code``/``permanent`` the machine side of an error.
    """

    content: str
    is_error: bool = False
    value: JSON = None
    code: str | None = None
    permanent: bool | None = None
    tries: Sequence[Mapping[str, JSON]] = ()
    cut_from: int | None = None


@dataclass(frozen=True)
class CallRecord:
    """One proposed call and its fate.

    ``states`` is the path through ``proposed → validated → executed | failed``, or
    ``proposed → rejected`` with ``rejection`` naming why. Model text never changes a state. Live calls have
    the moment they started and the seconds they took.
    """

    turn: int
    id: str
    tool: str
    arguments: Mapping[str, JSON] | None
    raw_arguments: str
    states: Sequence[str]
    rejection: str | None = None
    result: ToolResult | None = None
    idempotency_key: str | None = None
    replayed: bool = False
    started_at: str | None = None
    seconds: float | None = None

    @property
    def succeeded(self) -> bool:
        """Whether the call was executed without an error."""
        return self.states[-1] == "executed"


@dataclass(frozen=True)
class TurnRecord:
    """One request/response pair.

    ``said`` is what the user said before it where that depended on what was asked; ``settings`` maps a
    setting to what was asked, sent and honoured (``None``: cannot be known);
    ``response`` holds status, kept headers and the complete text; times are in milliseconds, ``None`` where
    a conversation was imported from a place that keeps none, and for a reply out of a batch.
    """

    index: int
    user_turn: int
    request: Mapping[str, JSON]
    request_hash: str
    settings: Mapping[str, Mapping[str, JSON]]
    tool_names: Mapping[str, str]
    losses: Sequence[str]
    response: Mapping[str, JSON]
    decision: ModelDecision
    started_at: str
    latency_ms: float | None
    first_token_ms: float | None = None
    request_id: str | None = None
    retries: Sequence[Mapping[str, JSON]] = ()
    said: str | None = None

    @property
    def in_batch(self) -> bool:
        """Whether the reply came through a batch endpoint: at another price, and after no latency to tell."""
        return self.settings.get("via", {}).get("sent") == "batch"


@dataclass(frozen=True)
class Attempt:
    """One case × one model × one condition × one repetition: the unit of the log."""

    run_id: str
    provider: str
    model: str
    protocol: str
    suite: str
    lang: str
    condition: str
    case_id: str
    repetition: int
    hashes: Mapping[str, str]
    status: Status
    stop: str
    turns: Sequence[TurnRecord]
    calls: Sequence[CallRecord]
    started_at: str
    seconds: float
    error: Mapping[str, JSON] | None = None
    retries: Sequence[Mapping[str, JSON]] = ()
    type: Literal["attempt"] = "attempt"
    earlier: tuple[Attempt, ...] = field(default=(), compare=False)
    """Lines of the log that this one takes the place of; not part of its own line."""

    @property
    def key(self) -> AttemptKey:
        """Identity inside a run."""
        return AttemptKey(
            self.provider,
            self.model,
            self.protocol,
            self.suite,
            self.lang,
            self.condition,
            self.case_id,
            self.repetition,
        )

    def to_json(self) -> dict[str, JSON]:
        """Return one log line as a plain object."""
        return {name: _plain(getattr(self, name)) for name in _names(Attempt)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Attempt:
        """Rebuild from a log line."""
        return cls(
            **{
                **data,
                "turns": tuple(
                    TurnRecord(**{**turn, "decision": ModelDecision.from_json(turn["decision"])})
                    for turn in data["turns"]
                ),
                "calls": tuple(
                    CallRecord(**{**call, "result": ToolResult(**call["result"]) if call["result"] else None})
                    for call in data["calls"]
                ),
            }
        )


@cache
def _names(kind: Any) -> tuple[str, ...]:
    """Return what a line says of a record; what does not count in comparing is no part of it."""
    return tuple(entry.name for entry in fields(kind) if entry.compare)


def _plain(value: Any) -> JSON:
    """Return records as objects; what they hold is already JSON, and is not copied."""
    if is_dataclass(value):
        kind: Any = type(value)
        return {name: _plain(getattr(value, name)) for name in _names(kind)}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Progress:
    """One more attempt has ended: it, how many have, and how many are planned.

    ``player_done`` of ``player_total`` are its own player's in this session: players differ in speed by
    orders of magnitude, so only these tell how long it will take.
    """

    attempt: Attempt
    done: int
    total: int
    player_done: int = 0
    player_total: int = 0


@dataclass(frozen=True)
class Resumed:
    """A line that says when a run was continued, by which versions, and which settings had changed."""

    at: str
    versions: Mapping[str, str]
    git_commit: str | None = None
    changes: Sequence[str] = ()
    type: Literal["resumed"] = "resumed"

    def to_json(self) -> dict[str, JSON]:
        """Return the line as a plain object."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Resumed:
        """Rebuild from a log line."""
        return cls(**data)


Arm = tuple[str, str, str, str, str, str, str]
"""The key of an attempt without its repetition."""


@lru_cache(maxsize=32)
def _suite(snapshot: str, where: str) -> Suite:
    """Return a suite out of a header; kept: every reader of a run asks for its suites."""
    return Suite.from_snapshot(json.loads(snapshot), where)


@dataclass(frozen=True)
class RunHeader:
    """First line of a log: everything that is fixed before the first request.

    ``suites`` are complete snapshots, so a log is scored without any other file; ``config`` is the recorded
    configuration; ``plan`` can be derived from both. ``imported`` says that nothing was played: its
    ``sources`` are the files that the conversations come from, ``made`` lists what is there, an attempt's
    key and the number of its repetitions.
    """

    run_id: str
    started_at: str
    config: Mapping[str, Any]
    conditions: Sequence[Mapping[str, Any]]
    players: Sequence[Mapping[str, Any]]
    suites: Sequence[Mapping[str, Any]]
    hashes: Mapping[str, Any]
    versions: Mapping[str, str]
    git_commit: str | None = None
    gates: Mapping[str, JSON] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    format: int = FORMAT
    seal: str | None = None
    imported: Mapping[str, JSON] | None = None
    type: Literal["run"] = "run"

    def to_json(self) -> dict[str, JSON]:
        """Return the header line as a plain object; one of a run that was played says nothing of imports."""
        data = asdict(self)
        if self.imported is None:
            del data["imported"]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunHeader:
        """Rebuild from the first line of a log."""
        return cls(**data)

    def sealed(self) -> RunHeader:
        """Return the header with the hash of all the rest of it, which its attempts carry as well."""
        plain = replace(self, seal=None)
        return replace(self, seal=sha256(plain.to_json()))

    def load_suites(self) -> dict[str, Suite]:
        """Return the suites as they were when the run started."""
        where = f"run {self.run_id}"
        # Not orjson: a case may hold an integer beyond 64 bits, or half a character.
        return {data["name"]: _suite(json.dumps(data), where) for data in self.suites}

    def load_conditions(self) -> dict[str, Condition]:
        """Return the conditions by name."""
        return {
            data["name"]: Condition(**{**data, "cases": Selection(**data["cases"])})
            for data in self.conditions
        }

    def repetitions(self, suites: Mapping[str, Suite]) -> Iterator[tuple[Arm, int]]:
        """Yield what is played by whom, as the names of an attempt's key, and how often."""
        if self.imported is not None:
            for *names, times in self.imported["made"]:
                provider, model, protocol, suite, lang, condition, case_id = names
                yield (provider, model, protocol, suite, lang, condition, case_id), times
            return
        conditions = self.load_conditions()
        for player in map(PlayerKey.of, self.players):
            for suite in suites.values():
                for lang in suite.langs:
                    for condition in conditions.values():
                        times = condition.repetitions or self.config["repetitions"]
                        for case in suite.cases:
                            if case.lang == lang and condition.admits(case):
                                yield (*player, suite.name, lang, condition.name, case.id), times

    def plan(self, suites: Mapping[str, Suite] | None = None) -> Iterator[AttemptKey]:
        """Yield every attempt of the matrix in running order.

        Player → suite → language → condition → repetition → case: neighbours share system prompt and
        tools, which a server with a prefix cache rewards, and a run that stops early has whole repetitions.
        What was imported was never planned: there is what there is.
        """
        for arms, times in self.blocks(suites or self.load_suites()):
            for repetition in range(times):
                for names in arms:
                    yield AttemptKey(*names, repetition)

    def blocks(self, suites: Mapping[str, Suite]) -> Iterator[tuple[list[Arm], int]]:
        """Yield the arms that are played in turn, and how often, in running order; see :meth:`plan`."""
        played = self.repetitions(suites)
        if self.imported is not None:
            yield from (([names], times) for names, times in played)
            return
        for _, group in groupby(played, key=lambda one: one[0][:-1]):
            cases = list(group)
            yield [names for names, _ in cases], cases[0][1]
