"""The script: which models are served, what each refuses and how it decides (`simulator.schema.json`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from toolbench.domain.canonical import JSON, StrictJSONError, loads_strict
from toolbench.errors import InputError
from toolbench.simulator.exchange import Model
from toolbench.simulator.failures import HERE

PROTOCOLS = ("chat_completions", "responses", "messages", "ollama_chat", "generate_content")
"""The wire formats that the simulator speaks."""

GROUP_TYPES = ("string", "integer", "number", "boolean")
"""What ``as`` can turn a copied group into."""

FAULTS: dict[str, dict[str, Any]] = json.loads((HERE / "faults.json").read_text("utf-8"))
"""Name of a fault -> its kind and defaults."""

SCHEMA: dict[str, Any] = json.loads((HERE / "simulator.schema.json").read_text("utf-8"))


@dataclass(frozen=True)
class Script:
    """All served models by id."""

    models: Mapping[str, Model]

    def find(self, asked: str) -> tuple[Model, JSON] | None:
        """Return the model of an id and the fault it asks for, or None for an unknown id.

        ``<model>+<fault>[,<fault>...]`` is a served model with a fault, so that a client that can set nothing
        but a model id can meet every fault.

        Raises
        ------
        InputError
            When there is no such fault.
        """
        name, _, faults = asked.partition("+")
        model = self.models.get(name)
        if model is None:
            return None
        return model, read_faults(faults) if faults else model.fault


def load_script(source: Path | str | Mapping[str, Any] | None = None) -> Script:
    """Read a script and lay it over the models that are always there.

    Parameters
    ----------
    source
        A JSON file, the value itself, or None for the built-in models alone.

    Raises
    ------
    InputError
        When the script does not fit its schema, copies a group that no rule captures, names an unknown fault
        or is like a model that does not exist.
    """
    builtin = _read(HERE / "models.json")
    where = "simulator script"
    if isinstance(source, Path | str):
        own, where = _read(Path(source)), str(source)
    else:
        own = {"models": {}} if source is None else dict(source)
    _check(own, where)
    entries: dict[str, JSON] = {**builtin["models"], **own["models"]}
    rules = own.get("rules", builtin["rules"])
    return Script({name: _model(name, _inherit(name, entries, where), rules) for name in entries})


def read_faults(text: str) -> JSON:
    """Read faults from a header, a query or a model id: names with commas between, or JSON.

    Raises
    ------
    InputError
        When it is neither, or a fault has an unknown name.
    """
    if text[:1] in "[{":
        try:
            faults = loads_strict(text)
        except StrictJSONError as error:
            raise InputError(f"simulator fault: not JSON: {error}") from None
    else:
        faults = [name.strip() for name in text.split(",")]
    schema = {"$ref": "#/$defs/faults", "$defs": SCHEMA["$defs"]}
    if problem := best_match(Draft202012Validator(schema).iter_errors(faults)):
        raise InputError(f"simulator fault: {problem.message[:200]}")
    _check_faults(faults, "simulator fault")
    return faults


def fault_name(fault: JSON) -> str:
    """Return the name of one fault, whichever way it was written."""
    return str(fault["fault"] if isinstance(fault, dict) else fault)


def _read(path: Path) -> dict[str, Any]:
    try:
        value = loads_strict(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (StrictJSONError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: a script is a JSON object")
    return value


def _check(script: JSON, where: str) -> None:
    checker = Draft202012Validator.FORMAT_CHECKER
    problem = best_match(Draft202012Validator(SCHEMA, format_checker=checker).iter_errors(script))
    if problem is not None:
        raise InputError(f"{where}: {problem.json_path}: {problem.message[:200]}")
    for path, rule in _rules(script):
        captured = {"user", "result"}
        if pattern := rule.get("when", {}).get("user_matches"):
            captured |= set(re.compile(pattern).groupindex)
        for then in decisions(rule):
            if unknown := set(_copied(then)) - captured:
                raise InputError(f"{where}: {path}: no group {sorted(unknown)} in user_matches")
            _check_faults(then.get("fault", []), f"{where}: {path}")
    for name, entry in script["models"].items():
        _check_faults(entry.get("fault", []), f"{where}: {name}")


def _rules(script: JSON) -> Iterator[tuple[str, JSON]]:
    owners = [("$.rules", script), *((f"$.models.{name}.rules", m) for name, m in script["models"].items())]
    for path, owner in owners:
        for index, rule in enumerate(owner.get("rules", [])):
            yield f"{path}[{index}]", rule


def decisions(rule: JSON) -> list[JSON]:
    """Return a rule's decisions as a list, however they were written."""
    then = rule["then"]
    return then if isinstance(then, list) else [then]


def _copied(value: JSON) -> Iterator[str]:
    """Yield the name of every group that a decision copies."""
    if isinstance(value, str):
        yield from Template(value).get_identifiers()
    elif isinstance(value, list):
        for item in value:
            yield from _copied(item)
    elif isinstance(value, dict):
        if "$group" in value:
            yield value["$group"]
            if value.get("as", "string") not in GROUP_TYPES:
                raise InputError(f"$group {value['$group']}: as is one of {', '.join(GROUP_TYPES)}")
        for item in value.values():
            yield from _copied(item)


def _check_faults(faults: JSON, where: str) -> None:
    for fault in faults if isinstance(faults, list) else [faults]:
        if fault_name(fault) not in FAULTS:
            raise InputError(f"{where}: unknown fault {fault_name(fault)!r}; known: {', '.join(FAULTS)}")


def _inherit(name: str, entries: Mapping[str, JSON], where: str) -> JSON:
    entry: JSON = {}
    seen = []
    step: str | None = name
    while step is not None:
        if step not in entries or step in seen:
            raise InputError(f"{where}: model {name!r} is like {step!r}, which leads nowhere")
        seen.append(step)
        entry = {**entries[step], **entry}
        step = entries[step].get("like")
    return entry


def _model(name: str, entry: JSON, rules: JSON) -> Model:
    return Model(
        id=name,
        protocols=tuple(entry.get("protocols", PROTOCOLS)),
        dialect=entry.get("dialect", "openai"),
        thinking=entry.get("thinking", "never"),
        refuses=frozenset(entry.get("refuses", ())),
        refuses_thinking=frozenset(entry.get("refuses_thinking", ())),
        binds_prefix=entry.get("binds_prefix", False),
        needs_thought_signature=entry.get("needs_thought_signature", False),
        fault=entry.get("fault"),
        rules=tuple(entry.get("rules", rules)),
    )
