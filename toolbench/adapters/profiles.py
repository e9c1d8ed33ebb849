"""Dialects: how servers of one protocol differ, read from ``profiles.json``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal

from toolbench.domain.canonical import JSON, loads_strict
from toolbench.domain.config import ModelConfig
from toolbench.domain.extensions import wire_of
from toolbench.errors import ConfigError

State = Literal["supported", "unsupported", "ignored"]


@dataclass(frozen=True)
class CapabilityRule:
    """A setting that some models refuse or ignore. Fields as in ``profiles.schema.json``."""

    setting: str
    state: State
    note: str
    values: Sequence[JSON] | None = None
    models: str = ""
    when: Mapping[str, JSON] = field(default_factory=dict)
    unless: Mapping[str, JSON] | None = None

    def applies(self, model: ModelConfig, setting: str, value: JSON) -> bool:
        """Whether the rule is about this model, setting and value."""
        return (
            setting == self.setting
            and (self.values is None or value in self.values)
            and re.search(self.models, model.family or model.model) is not None
            and _has(model.extra_body, self.when)
            and not (self.unless is not None and _has(model.extra_body, self.unless))
        )


@dataclass(frozen=True)
class Dialect:
    """One server's way of speaking a protocol. Fields as in ``profiles.schema.json``."""

    fields: Mapping[str, str | None]
    date: str = ""
    note: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, JSON] = field(default_factory=dict)
    strict_default: bool | None = None
    strict_rules: str | None = None
    schema_rules: str | None = None
    none_choice: Literal["sent", "omit_tools"] = "sent"
    named_choice: Literal["object", "offer_only"] = "object"
    id_pattern: str | None = None
    empty_content: Literal["echo", "null", "empty", "absent"] = "echo"
    reply_defaults: Mapping[str, JSON] = field(default_factory=dict)
    reply_drops: Sequence[str] = ()
    allowed_choice: bool = False
    cost_currency: str | None = None
    batch: str | None = None
    call_signature: Mapping[str, str] | None = None
    stream_options: bool = True
    error_flag: bool = True
    capability_rules: tuple[CapabilityRule, ...] = ()

    def state(self, model: ModelConfig, setting: str, value: JSON) -> tuple[State, str]:
        """Return whether the model takes a setting, and why not. The configuration's own word wins."""
        configured = model.capabilities.get(setting)
        if configured in ("unsupported", "ignored"):
            return ("unsupported" if configured == "unsupported" else "ignored"), "capabilities say so"
        if configured is None:
            for rule in self.capability_rules:
                if rule.applies(model, setting, value):
                    return rule.state, rule.note
        return "supported", ""

    def stand_in_signature(self, model: ModelConfig) -> str | None:
        """Return what a call in the history carries that has no signature of its own."""
        rule = self.call_signature
        if rule is None or re.search(rule["unless"], model.family or model.model):
            return None
        return rule["value"]


def _has(body: JSON, wanted: JSON) -> bool:
    """Whether a body contains a pattern: objects by key, a list as alternatives, all else by equality."""
    if isinstance(wanted, Mapping):
        return isinstance(body, Mapping) and all(
            key in body and _has(body[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return body in wanted
    return bool(body == wanted)


@cache
def dialects(protocol: str) -> tuple[str, Mapping[str, Dialect]]:
    """Return the name of a protocol's default dialect, and all its dialects."""
    text = resources.files("toolbench.adapters").joinpath("profiles.json").read_text("utf-8")
    entry: Mapping[str, Any] = loads_strict(text)["protocols"][protocol]
    base = entry["base"]
    built = {
        name: Dialect(
            **{
                **base,
                **changes,
                "fields": {**base["fields"], **changes.get("fields", {})},
                "capability_rules": tuple(
                    CapabilityRule(**rule) for rule in changes.get("capability_rules", ())
                ),
            }
        )
        for name, changes in entry["dialects"].items()
    }
    return entry["default"], built


def dialect_of(model: ModelConfig) -> Dialect:
    """Return the dialect of a model, its protocol's default when the configuration names none.

    Raises
    ------
    ConfigError
        For a name that ``profiles.json`` does not have under the model's protocol.
    """
    default, known = dialects(wire_of(model.protocol))
    name = model.profile or default
    try:
        return known[name]
    except KeyError:
        raise ConfigError(
            f"runs: {model.provider}: {model.protocol} has no profile {name!r}; there are: {', '.join(known)}"
        ) from None
