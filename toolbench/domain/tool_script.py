"""The script of a suite's tools (``executor.json``): what they answer to which calls, and how retries go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from toolbench.domain.canonical import JSON

Text = str | Mapping[str, str]
"""One text, or one a language."""


@dataclass(frozen=True)
class ToolError:
    """An error a tool answers with; ``retry_after`` in seconds, ``status`` as HTTP, 0 for a timeout."""

    code: str
    permanent: bool
    message: Text
    status: int = 200
    retry_after: float = 0.0
    hint: Text | None = None


@dataclass(frozen=True)
class Success:
    """A result; ``effect``: the write took place, ``text``: what a model is handed in place of JSON."""

    value: JSON
    effect: bool = True
    text: str | None = None


@dataclass(frozen=True)
class Failure:
    """An error; ``effect``: the write took place although the caller saw an error."""

    error: ToolError
    effect: bool = False


@dataclass(frozen=True)
class Garbage:
    """Raw text of a broken tool; ``effect``: the write took place although it cannot be read."""

    text: str
    effect: bool = False


@dataclass(frozen=True)
class Real:
    """A real tool answers; ``name`` is its name in ``running/course_tools.py``."""

    name: str


ScriptedResult = Success | Failure | Garbage | Real


@dataclass(frozen=True)
class ScriptedTool:
    """Results of a tool, one after another for repeated executions; the last one repeats.

    ``when`` maps an argument to the value it must have (or ``{"pattern": regex}``); executions are kept
    ``every_seconds`` apart on the virtual clock. What was ``recorded`` answers only a call with exactly these
    arguments, word by word.
    """

    tool: str
    results: Sequence[ScriptedResult]
    when: Mapping[str, JSON] = field(default_factory=dict)
    every_seconds: float = 0.0
    recorded: bool = False


@dataclass(frozen=True)
class Retry:
    """How the orchestrator tries again; waits double from try to try, all times in virtual seconds.

    A tool that asks for a longer wait than ``cap_seconds`` is not tried again; ``timeout_seconds`` is what a
    try that times out costs.
    """

    tries: int = 1
    base_seconds: float = 1.0
    cap_seconds: float = 30.0
    timeout_seconds: float = 0.0


@dataclass(frozen=True)
class ToolScript:
    """What a suite's tools answer, or where real ones do.

    Attributes
    ----------
    kind
        ``script``: from ``rules``; ``python``: registered functions in a child process; ``mcp``: a server.
    callables
        Tool → ``module:function``.
    server, names, headers, env
        A command line or an address; tool → its name there, where that is another; headers of requests
        (``env:NAME`` is read from the environment); names of environment variables that a server's process
        is given.
    timeout_seconds
        What one live call may take.

    ``now`` is the moment at which real tools find themselves (absent: the present), ``live`` lets them ask
    public services, ``max_result_chars`` caps what a model is handed; ``source`` is the document as written.
    """

    version: str
    rules: Sequence[ScriptedTool] = ()
    note: str = ""
    max_result_chars: int = 4000
    now: str | None = None
    live: bool = False
    retry: Retry = Retry()
    kind: Literal["script", "python", "mcp"] = "script"
    callables: Mapping[str, str] = field(default_factory=dict)
    server: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    env: Sequence[str] = ()
    timeout_seconds: float = 30.0
    source: Mapping[str, JSON] = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ToolScript:
        """Build from ``executor.json`` (already valid against its schema)."""
        rules = [
            ScriptedTool(**{**rule, "results": [_result(result) for result in rule["results"]]})
            for rule in data.get("rules", ())
        ]
        return cls(**{**data, "rules": rules, "retry": Retry(**data.get("retry", {}))}, source=data)

    @property
    def remote(self) -> bool:
        """Whether real tools answer, which takes time and may change something."""
        return self.kind != "script"

    @property
    def shown_server(self) -> str:
        """The server as it may be printed."""
        return self.server.partition("?")[0][:120]

    def asking_live(self) -> ToolScript:
        """Return the same script with real tools asking public services."""
        return self.from_json({**self.source, "live": True})

    def of(self, tool: str) -> list[ScriptedTool]:
        """Return the rules of a tool, in the order they are tried."""
        return [rule for rule in self.rules if rule.tool == tool]

    def results(self) -> Iterator[ScriptedResult]:
        """Yield everything any tool can answer."""
        for rule in self.rules:
            yield from rule.results


def _result(data: Mapping[str, Any]) -> ScriptedResult:
    effect = {"effect": data["effect"]} if "effect" in data else {}
    if "ok" in data:
        return Success(data["ok"], text=data.get("text"), **effect)
    if "error" in data:
        return Failure(ToolError(**data["error"]), **effect)
    if "malformed" in data:
        return Garbage(data["malformed"], **effect)
    return Real(data["implementation"])


NO_SCRIPT = ToolScript.from_json({"version": "none", "rules": []})
