"""Policies as data: which player is asked, when another one takes over, what happens to writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolbench.domain.files import read_json
from toolbench.errors import InputError

FACTS = ("write_due", "nested_due", "call_due")

SIGNALS: Mapping[str, str] = {
    "invalid": "a call was not valid as sent, or there was no usable reply",
    "write": "a write tool was called",
    "nested": "a call had an object or a list among its arguments",
    "unknown_tool": "a tool was called that was not on offer",
    "refusal": "the model refused",
    "loop": "the limit of tool iterations was reached",
    "transport_error": "the provider failed",
    "unknown_error": "a tool failed with a code outside the policy's known_errors",
}
"""What an orchestrator can see of an attempt without knowing what was right."""


@dataclass(frozen=True)
class Policy:
    """How several players work together.

    Attributes
    ----------
    routes
        ``(facts, player)``, the first whose facts all hold is asked: ``({"write_due": False}, "a/m")``.
        Facts are ``write_due``, ``nested_due``, ``call_due`` of the case, so this assumes a router that is
        always right; a policy without facts and with takeovers assumes nothing.
    takeovers
        ``(signals, player)``, in order: where the last attempt shows one of the signals, that player's
        attempt at the case replaces it, and both are paid for. A takeover on ``write`` holds the write
        back; after any other the unsafe calls of the replaced attempt count.
    confirm_writes
        The user is asked before every write. Simulated as a user who confirms exactly what was wanted:
        an unsafe write does not happen, a right one does; ``asked`` counts the questions.
    known_errors
        With a list, an attempt in which a tool fails with another code is handed to a human: it neither
        passes nor completes, and ``handed_over`` counts it.

    A player is named ``provider/model`` or ``provider/model/protocol``.
    """

    name: str
    routes: Sequence[tuple[Mapping[str, bool], str]]
    takeovers: Sequence[tuple[Sequence[str], str]] = ()
    confirm_writes: bool = False
    known_errors: Sequence[str] | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Policy:
        """Build from ``{"name", "routes": [{"when"?, "use"}], "takeovers"?: [{"on", "use"}], ...}``.

        Raises
        ------
        InputError
            For an unknown key, fact or signal, or a policy that names nobody to ask.
        """
        name = data.get("name", "?")
        unknown = set(data) - {"name", "routes", "takeovers", "confirm_writes", "known_errors"}
        if unknown or not data.get("routes") or "name" not in data:
            detail = f"unknown key {sorted(unknown)[0]!r}" if unknown else "name and routes are needed"
            raise InputError(f"policy {name}: {detail}")
        try:
            routes = tuple((dict(route.get("when", {})), route["use"]) for route in data["routes"])
            takeovers = tuple((tuple(entry["on"]), entry["use"]) for entry in data.get("takeovers", ()))
        except (KeyError, TypeError, AttributeError) as fault:
            raise InputError(f"policy {name}: a route needs use, a takeover on and use ({fault})") from None
        for word, known in [(f, FACTS) for facts, _ in routes for f in facts] + [
            (s, tuple(SIGNALS)) for signals, _ in takeovers for s in signals
        ]:
            if word not in known:
                raise InputError(f"policy {name}: unknown {word!r}; there are: {', '.join(known)}")
        return cls(name, routes, takeovers, data.get("confirm_writes", False), data.get("known_errors"))

    @property
    def players(self) -> tuple[str, ...]:
        """Everybody the policy may ask."""
        return tuple(dict.fromkeys([use for _, use in (*self.routes, *self.takeovers)]))


def load_policies(path: Path) -> tuple[Policy, ...]:
    """Read ``{"policies": [...]}``, each as :meth:`Policy.from_json` takes it.

    Raises
    ------
    InputError
        With the file and the policy that is wrong.
    """
    data = read_json(path, error=InputError)
    if not isinstance(data, dict) or not data.get("policies") or not isinstance(data["policies"], list):
        raise InputError(f"{path}: a list named policies is needed")
    try:
        return tuple(Policy.from_json(entry) for entry in data["policies"])
    except InputError as fault:
        raise InputError(f"{path}: {fault}") from None


def examples(cheap: str, strong: str) -> tuple[Policy, ...]:
    """Return the policies worth looking at first, for a cheap and a strong player."""
    return (
        Policy(f"only {cheap}", [({}, cheap)]),
        Policy(f"only {strong}", [({}, strong)]),
        Policy("reads to the cheap one", [({"write_due": False}, cheap), ({}, strong)]),
        Policy("nested arguments to the strong one", [({"nested_due": True}, strong), ({}, cheap)]),
        Policy("writes are looked at twice", [({}, cheap)], [(("write",), strong)]),
        Policy("fall back after an invalid call", [({}, cheap)], [(("invalid", "transport_error"), strong)]),
        Policy("confirm every write", [({}, cheap)], confirm_writes=True),
        Policy("stop on an unknown error", [({}, cheap)], known_errors=()),
    )
