"""From file names to a configuration and suites that are ready to run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from toolbench.domain.config import Config
from toolbench.domain.suite import Suite, find_suite, load_suite
from toolbench.errors import ConfigError


def prepare(
    config: str | Path,
    *,
    tools: str | Path | None = None,
    cases: Sequence[str | Path] = (),
    conditions: Sequence[str] = (),
    repetitions: int | None = None,
    parallelism: int | None = None,
    live_rates: bool = False,
) -> tuple[Config, list[Suite]]:
    """Load a configuration and its suites, with what was given beside it taking precedence.

    Parameters
    ----------
    config
        Path of ``config.json``; suite names in it are looked up in its folder.
    tools, cases
        A contract file and case files to use instead of the configuration's suites; both or neither.
    live_rates
        Let the course suite ask the public exchange-rate service instead of its frozen table. The executor
        script, and with it its hash in the run header, says so.
    conditions
        Names of conditions to keep (the configuration's own or built-in ones); empty keeps all.

    Raises
    ------
    InputError
        For anything that cannot be used, with file, line and field.
    """
    loaded = Config.load(Path(config))
    if conditions:
        loaded = loaded.choose_conditions(conditions)
    if repetitions is not None:
        loaded = replace(
            loaded,
            repetitions=repetitions,
            conditions=tuple(replace(condition, repetitions=None) for condition in loaded.conditions),
        )
    if parallelism is not None:
        loaded = replace(loaded, parallelism=parallelism)
    if (tools is None) != (not cases):
        raise ConfigError(
            "tools and cases belong together: give both, or neither and name suites in the configuration"
        )
    if tools is not None:
        suites = [load_suite(Path(tools), [Path(case) for case in cases])]
    elif loaded.suites:
        suites = [find_suite(loaded.root, name) for name in loaded.suites]
    else:
        raise ConfigError(f"{config}: suites: name at least one suite, or give tools and cases")
    if live_rates:
        suites = [replace(suite, executor=suite.executor.asking_live()) for suite in suites]
    return loaded, suites
