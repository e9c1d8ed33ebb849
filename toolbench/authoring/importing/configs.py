"""A configuration as the course's text prints it: settings at the top, entries without a protocol."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolbench.authoring.importing.reading import read_values
from toolbench.domain.canonical import JSON
from toolbench.domain.config import PLACEHOLDER, Config, Settings
from toolbench.domain.files import create_all
from toolbench.errors import ConfigError

KEPT = ("repetitions", "parallelism", "seed", "timeouts", "retries", "budgets", "conditions", "labels")


def import_config(source: Path, target: Path, suites: Sequence[str]) -> list[str]:
    """Write a configuration of another bench as ``config.json`` and return what was left out or added.

    Entries with a placeholder in them are left out: nothing could be sent there. The baselines always run.

    Raises
    ------
    InputError
        When it is no configuration, or the target is there already.
    """
    values, remarks = read_values(source)
    data = values[0] if len(values) == 1 else None
    if not isinstance(data, dict) or not isinstance(data.get("runs"), list):
        raise ConfigError(f"{source}: no configuration: it needs a list of runs")
    settings = Settings.__dataclass_fields__
    defaults = {key: data[key] for key in settings if key in data} | dict(data.get("defaults", {}))
    made: dict[str, JSON] = {"runs": _runs(data["runs"], remarks), "suites": list(suites)}
    if defaults:
        made["defaults"] = defaults
    made |= {key: data[key] for key in KEPT if key in data}
    known = {*settings, *KEPT, "runs", "defaults", "suites"}
    remarks += [f"{key}: left out, there is no such setting here" for key in data if key not in known]
    Config.from_json(made, str(source))
    create_all({target: json.dumps(made, ensure_ascii=False, indent=2) + "\n"}, ConfigError)
    return remarks


def _runs(entries: Sequence[Any], remarks: list[str]) -> list[JSON]:
    made: list[JSON] = []
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise ConfigError(f"runs[{index}]: an object is needed")
        named = [key for key, value in entry.items() if isinstance(value, str) and PLACEHOLDER.search(value)]
        if named:
            remarks.append(f"runs[{index}]: left out: {' and '.join(named)} still hold a placeholder")
            continue
        if "protocol" not in entry:
            remarks.append(f"runs[{index}]: protocol chat_completions is a guess")
        made.append({"protocol": "chat_completions", **entry})
    return made
