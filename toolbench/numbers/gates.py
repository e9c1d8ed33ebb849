"""Gates: limits chosen before a run, held against its figures afterwards.

A gate is evaluated for every model, suite, language and condition it applies to. It passes, it fails, or
there is *not enough data*: no figure, fewer than ``min_n`` cases, or (``decide: interval``) an interval that
does not lie on one side of the limit. A quantile is always decided by its interval: of 30 scenarios the
slowest says little about the 95th percentile. A limit of zero occurrences that is broken fails however few
cases there are. A better result never passes fewer gates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import pandas as pd

from toolbench.domain.canonical import JSON, loads_strict, sha256
from toolbench.domain.files import read_json, validate
from toolbench.domain.plurals import plural
from toolbench.domain.rich import html_table
from toolbench.errors import ConfigError, InputError
from toolbench.numbers.definitions import QUANTILES, RATES
from toolbench.numbers.frames import ScoredRun, load_run
from toolbench.numbers.rows import GROUP, of_models
from toolbench.numbers.tables import records

Outcome = Literal["pass", "fail", "not enough data"]

EXIT_CODES: Mapping[Outcome, int] = {"pass": 0, "fail": 1, "not enough data": 3}
"""Exit code of ``toolbench gate`` (2 is a wrong input, as everywhere)."""

MIN_N = 20
MEASURED = frozenset(quantile.name for quantile in QUANTILES)
"""Metrics that only an interval can decide."""
ESTIMATED = MEASURED | {rate.name for rate in RATES} | {"consistency", "pass^k", "pass@k"}
"""Metrics that have an interval; the others count what happened."""


@dataclass(frozen=True)
class GateResult:
    """One gate on one result of a run; ``n`` is the number of cases behind ``value``."""

    gate: str
    provider: str
    model: str
    protocol: str
    suite: str
    lang: str
    condition: str
    metric: str
    limit: str
    value: float | None
    n: int
    ci_low: float | None
    ci_high: float | None
    outcome: Outcome
    reason: str


@dataclass(frozen=True)
class GateReport:
    """All gates of a run.

    Attributes
    ----------
    hash
        SHA-256 of the gates that were evaluated.
    changed_after_run
        Whether these are not the gates that the run's header fixed before its first request.
    """

    version: str
    hash: str
    changed_after_run: bool
    results: tuple[GateResult, ...]

    @property
    def outcome(self) -> Outcome:
        """``fail`` if any gate failed, else ``not enough data`` if any lacked data, else ``pass``."""
        found = {result.outcome for result in self.results}
        order: tuple[Outcome, ...] = ("fail", "not enough data", "pass")
        return next(outcome for outcome in order if outcome in found)

    @property
    def exit_code(self) -> int:
        """0, 1 or 3: see :data:`EXIT_CODES`."""
        return EXIT_CODES[self.outcome]

    @property
    def frame(self) -> pd.DataFrame:
        """One row per gate and result, columns as the attributes of :class:`GateResult`."""
        return pd.DataFrame([asdict(result) for result in self.results])

    def to_json(self) -> dict[str, JSON]:
        """Return the report as it stands in ``report.json``."""
        return {**asdict(self), "results": [asdict(r) for r in self.results], "outcome": self.outcome}

    def to_junit(self) -> str:
        """Return the report as JUnit XML, as CI systems read it; what lacks data is skipped."""
        outcomes = [result.outcome for result in self.results]
        numbers = {"failures": outcomes.count("fail"), "skipped": outcomes.count("not enough data")}
        counts = {"tests": len(outcomes), **numbers, "errors": 0}
        suite = ElementTree.Element("testsuite", name=f"gates {self.version}")
        suite.attrib |= {name: str(number) for name, number in counts.items()}
        for result in self.results:
            place = ".".join(getattr(result, name) for name in GROUP)
            case = ElementTree.SubElement(suite, "testcase", classname=place, name=result.gate)
            if result.outcome != "pass":
                tag = "failure" if result.outcome == "fail" else "skipped"
                ElementTree.SubElement(case, tag, message=result.reason)
        return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)

    def _repr_html_(self) -> str:
        shown = ("gate", *GROUP, "outcome", "reason")
        rows = [{name: getattr(result, name) for name in shown} for result in self.results]
        return html_table(f"gates {self.version}: {self.outcome}", rows)

    def __str__(self) -> str:
        """One line per gate and result, then the verdict."""
        lines = [
            f"{r.outcome:<15} {r.gate:<22} {'/'.join(getattr(r, name) for name in GROUP)}: {r.reason}"
            for r in self.results
        ]
        note = "; these are not the gates that were fixed before the run" if self.changed_after_run else ""
        return "\n".join([*lines, f"gates {self.version} ({self.hash[:8]}{note}): {self.outcome}"])


def gate(run: ScoredRun | str | Path, gates: Mapping[str, Any] | str | Path | None = None) -> GateReport:
    """Decide the gates of a run: those of its header, or others given as a file or as data.

    ::

        toolbench.gate("runs/b", "gates.json").outcome

    Raises
    ------
    InputError, ConfigError
        As :func:`evaluate` and :func:`load_gates` do.
    """
    scored = run if isinstance(run, ScoredRun) else load_run(run)
    return evaluate(scored, load_gates(Path(gates)) if isinstance(gates, str | Path) else gates)


def load_gates(path: Path) -> dict[str, Any]:
    """Read a ``gates.json``.

    Raises
    ------
    ConfigError
        For a broken file or one that does not fit ``schemas/gates.schema.json``.
    """
    gates: dict[str, Any] = read_json(path, "gates", ConfigError)
    return gates


def default_gates() -> dict[str, Any]:
    """Return the shipped example."""
    text = resources.files("toolbench.numbers").joinpath("default_gates.json").read_text("utf-8")
    gates: dict[str, Any] = loads_strict(text)
    return gates


def evaluate(scored: ScoredRun, gates: Mapping[str, Any] | None = None) -> GateReport:
    """Evaluate the gates of a run's header, or others given.

    Raises
    ------
    InputError
        When the run has no gates and none are given, or they name a value that the run does not have.
    ConfigError
        When they do not fit ``schemas/gates.schema.json``.
    """
    header = scored.log.header
    chosen: Mapping[str, Any] | None = gates if gates is not None else header.gates
    if chosen is None:
        raise InputError(
            f"run {header.run_id}: no gates were fixed before the run; name a file under gates in "
            "config.json, or give one now (the report will say that it came later)"
        )
    validate(dict(chosen), "gates", "gates", ConfigError)
    _refuse_unknown(chosen, scored)
    figures = scored.figures
    conditions = header.load_conditions().items()
    controls = {name for name, one in conditions if one.control or one.arguments_only}
    shared = {"min_n": MIN_N, "decide": "point"} | {
        k: v for k, v in chosen.items() if k in ("min_n", "decide")
    }
    results = [r for gate in chosen["gates"] for r in _evaluate({**shared, **gate}, figures, controls)]
    fixed = header.hashes.get("gates")
    found = sha256(dict(chosen))
    return GateReport(chosen["version"], found, found != fixed, tuple(results))


def gates_json(scored: ScoredRun) -> dict[str, JSON] | None:
    """Return the report on the gates of the run's header, ``None`` when it has none."""
    return evaluate(scored).to_json() if scored.log.header.gates is not None else None


def _refuse_unknown(gates: Mapping[str, Any], scored: ScoredRun) -> None:
    """Refuse a gate for nothing: it would neither pass nor fail, and nobody would see why."""
    for gate in gates["gates"]:
        for column, values in gate.get("where", {}).items():
            there = list(dict.fromkeys(scored.planned[column]))
            for value in values:
                if value not in there:
                    raise InputError(
                        f"gate {gate['name']}: run {scored.log.header.run_id} has no {column} {value!r}; "
                        f"there is {', '.join(there) or 'nothing'}"
                    )


def _evaluate(gate: Mapping[str, Any], figures: pd.DataFrame, controls: set[str]) -> Iterator[GateResult]:
    chosen = _applicable(gate.get("where", {}), figures, controls)
    rows = chosen[chosen["metric"] == gate["metric"]]
    if rows.empty:
        yield _judge(gate, {**dict.fromkeys(GROUP, "-"), "value": None, "ci_low": None, "ci_high": None}, 0)
    for row in records(rows):
        yield _judge(gate, row, int(row["cases"]))


def _applicable(where: Mapping[str, list[str]], figures: pd.DataFrame, controls: set[str]) -> pd.DataFrame:
    kept = pd.Series(True, index=figures.index)
    for column, values in where.items():
        kept &= figures[column].isin(values)
    if "provider" not in where:
        kept &= of_models(figures)
    if "condition" not in where:
        kept &= ~figures["condition"].isin(controls)
    return figures[kept]


def _judge(gate: Mapping[str, Any], row: Mapping[str, Any], n: int) -> GateResult:
    value, low, high = (None if pd.isna(row[c]) else float(row[c]) for c in ("value", "ci_low", "ci_high"))
    upper = "max" in gate
    bound = float(gate["max"] if upper else gate["min"])
    outcome, why = _outcome(gate, value, low, high, n, upper, bound)
    shown = "no figure" if value is None else f"{value:.4g}"
    known = low is not None or high is not None
    interval = f" [{_end(low)}, {_end(high)}]" if known else ""
    return GateResult(
        **_names(gate),
        **{name: row[name] for name in GROUP},
        value=value,
        n=n,
        ci_low=low,
        ci_high=high,
        outcome=outcome,
        reason=f"{gate['metric']} {shown}{interval}, limit {_names(gate)['limit']}, {plural(n, 'case')}{why}",
    )


def _end(value: float | None) -> str:
    return "?" if value is None else f"{value:.4g}"


def _names(gate: Mapping[str, Any]) -> dict[str, str]:
    limit = f"≤ {gate['max']:g}" if "max" in gate else f"≥ {gate['min']:g}"
    return {"gate": gate["name"], "metric": gate["metric"], "limit": limit}


def _outcome(
    gate: Mapping[str, Any],
    value: float | None,
    low: float | None,
    high: float | None,
    n: int,
    upper: bool,
    bound: float,
) -> tuple[Outcome, str]:
    if value is None:
        return "not enough data", ""
    broken = value > bound if upper else value < bound
    if broken and upper and bound == 0:
        return "fail", ""
    if n < gate["min_n"]:
        return "not enough data", f" (below {gate['min_n']})"
    if gate["metric"] in MEASURED or (gate["decide"] == "interval" and gate["metric"] in ESTIMATED):
        return _by_interval(value, low, high, upper, bound)
    return ("fail" if broken else "pass"), ""


def _by_interval(
    value: float, low: float | None, high: float | None, upper: bool, bound: float
) -> tuple[Outcome, str]:
    """Decide by the ends of the interval, the worse one for a pass and the better one for a failure."""
    worst, best = (high, low) if upper else (low, high)
    sign = -1 if upper else 1
    # No run can show more than n of n, or less than 0 of n: a limit at the end of the scale is met by that.
    met = sign * value >= sign * bound and best is not None and best == value == bound
    if met or (worst is not None and sign * worst >= sign * bound):
        return "pass", ""
    if best is not None and sign * best < sign * bound:
        return "fail", ""
    why = "no interval" if worst is None else "the limit is inside the interval"
    return "not enough data", f" ({why})"
