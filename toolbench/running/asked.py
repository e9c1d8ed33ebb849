"""From file names to a configuration and suites that are ready to run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from toolbench.domain.case import Case
from toolbench.domain.config import Config, ModelConfig
from toolbench.domain.files import read_json
from toolbench.domain.keys import AttemptKey
from toolbench.domain.suite import Suite, find_suite, load_suite
from toolbench.domain.tool_script import ToolScript
from toolbench.errors import ConfigError, SuiteError


@dataclass(frozen=True)
class Part:
    """Which part of a matrix to play: names or patterns such as ``after_*``; an empty choice keeps all.

    Attributes
    ----------
    models
        Models and baselines, as ``model`` or ``provider/model``.
    suites
        Suites instead of those of the configuration.
    langs, cases, tags
        Languages, ids and tags of cases; a case has to be in all three choices.
    """

    models: Sequence[str] = ()
    suites: Sequence[str] = ()
    langs: Sequence[str] = ()
    cases: Sequence[str] = ()
    tags: Sequence[str] = ()

    def of_config(self, config: Config) -> Config:
        """Return the configuration with the chosen players and suites.

        Raises
        ------
        ConfigError
            When a name fits nothing.
        """
        if self.suites:
            config = replace(config, suites=tuple(dict.fromkeys(self.suites)))
        if not self.models:
            return config
        _each_fits("model", self.models, [name for player in config.players for name in _names(player)])
        kept = [player for player in config.players if any(_fits(self.models, n) for n in _names(player))]
        return replace(
            config,
            runs=tuple(player for player in kept if player.kind != "baseline"),
            baselines=tuple(player.model for player in kept if player.kind == "baseline"),
        )

    def of_suites(self, suites: Sequence[Suite]) -> list[Suite]:
        """Return the suites with the chosen cases; one without any is left out.

        Raises
        ------
        ConfigError
            When a name fits nothing, or no case is left.
        """
        cases = [case for suite in suites for case in suite.cases]
        _each_fits("language", self.langs, {case.lang for case in cases})
        _each_fits("case", self.cases, {case.id for case in cases})
        _each_fits("tag", self.tags, {tag for case in cases for tag in case.tags})
        kept = [suite.keep(filter(self._admits, suite.cases)) for suite in suites]
        if not any(suite.cases for suite in kept):
            raise ConfigError("no case is in all that is chosen: --langs, --cases and --tags have to meet")
        return [suite for suite in kept if suite.cases]

    def _admits(self, case: Case) -> bool:
        return (
            _fits(self.langs, case.lang)
            and _fits(self.cases, case.id)
            and (not self.tags or any(_fits(self.tags, tag) for tag in case.tags))
        )


def _names(player: ModelConfig) -> tuple[str, str]:
    return player.model, f"{player.provider}/{player.model}"


def _fits(patterns: Sequence[str], name: str) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def _each_fits(what: str, patterns: Sequence[str], names: Iterable[str]) -> None:
    known = sorted(set(names))
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            shown = ", ".join(known[:20]) + (" …" if len(known) > 20 else "")
            raise ConfigError(f"no {what} is called {pattern!r}; there are: {shown}")


def columns(config: Config, suites: Sequence[Suite]) -> dict[str, list[str]]:
    """Return the columns that tell the parts of a run from each other, each with its values."""
    keys = [player.key for player in config.players]
    values = {
        "provider": (key.provider for key in keys),
        "model": (key.model for key in keys),
        "protocol": (key.protocol for key in keys),
        "suite": (suite.name for suite in suites),
        "lang": (lang for suite in suites for lang in suite.langs),
        "condition": (condition.name for condition in config.conditions),
    }
    return {column: list(dict.fromkeys(found)) for column, found in values.items()}


def sitting(chosen: Sequence[str], config: Config, suites: Sequence[Suite]) -> Callable[[AttemptKey], bool]:
    """Return which attempts of a plan to make now: those that have every ``column=value``.

    Raises
    ------
    ConfigError
        When a column or a value is not one of the run's.
    """
    there = columns(config, suites)
    wanted = []
    for text in chosen:
        column, _, value = text.partition("=")
        if column not in there:
            raise ConfigError(f"now: {text!r}: write column=value; there are: {', '.join(there)}")
        if value not in there[column]:
            known = ", ".join(there[column])
            raise ConfigError(f"now: the run has no {column} {value!r}; there is {known}")
        wanted.append((column, value))
    return lambda planned: all(getattr(planned, column) == value for column, value in wanted)


def prepare(
    config: str | Path,
    *,
    tools: str | Path | None = None,
    cases: Sequence[str | Path] = (),
    conditions: Sequence[str] = (),
    part: Part | None = None,
    repetitions: int | None = None,
    parallelism: int | None = None,
    live_rates: bool = False,
    allow_writes: bool = False,
    replay: Path | None = None,
    batch: Literal["first", "every"] | None = None,
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
    allow_writes
        The second consent to writes of live tools; the first one is ``allow_writes`` in the configuration.
    replay
        Folder with ``<suite>.executor.json`` of an earlier live run, to be used in place of live executors.
    batch
        Which requests of all models go through batch endpoints, whatever the configuration says.
    conditions
        Names of conditions to keep (the configuration's own or built-in ones); empty keeps all.
    part
        Which players, suites and cases to keep.

    Raises
    ------
    InputError
        For anything that cannot be used, with file, line and field.
    """
    part = part or Part()
    loaded = part.of_config(Config.load(Path(config)))
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
    if batch is not None:
        loaded = replace(loaded, runs=tuple(replace(run, batch=batch) for run in loaded.runs))
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
    suites = part.of_suites(suites)
    if allow_writes and not loaded.allow_writes:
        raise ConfigError(f'{config}: --allow-writes needs "allow_writes": true in the configuration as well')
    loaded = replace(loaded, writes_confirmed=allow_writes)
    suites = [_replayed(suite, replay) if replay and suite.executor.remote else suite for suite in suites]
    for suite in suites:
        _refuse_frozen(suite)
    if live_rates:
        suites = [replace(suite, executor=suite.executor.asking_live()) for suite in suites]
    return loaded, suites


def recording_of(folder: Path, suite: str) -> Path:
    """Return where the recorded script of a suite stands."""
    return folder / f"{suite}.executor.json"


def _replayed(suite: Suite, folder: Path) -> Suite:
    path = recording_of(folder, suite.name)
    return replace(suite, executor=ToolScript.from_json(read_json(path, "executor", ConfigError)))


def _refuse_frozen(suite: Suite) -> None:
    """Refuse frozen results of live tools: they would differ from run to run, and writes be repeated."""
    for case in suite.cases:
        if suite.executor.remote and any("tool_calls" in message for message in case.messages):
            raise SuiteError(
                f"suite {suite.name}: case {case.id} starts after tool results, which a live executor cannot "
                "give; use a recorded script (--replay)"
            )
