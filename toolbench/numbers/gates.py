"""Gates: limits chosen before a run, held against its figures afterwards.

A gate is evaluated for every model, suite, language and condition it applies to. It passes, it fails, or
there is *not enough data*: no figure, fewer than ``min_n`` observations, or (``decide: interval``) the limit
lies inside the interval. A limit of zero occurrences that is broken fails however few observations there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from toolbench.domain.canonical import JSON, loads_strict, sha256
from toolbench.domain.files import read_json
from toolbench.errors import ConfigError, InputError
from toolbench.numbers.frames import ScoredRun
from toolbench.numbers.metrics import metrics
from toolbench.numbers.rows import GROUP, of_models
from toolbench.numbers.tables import records

Outcome = Literal["pass", "fail", "not enough data"]

EXIT_CODES: Mapping[Outcome, int] = {"pass": 0, "fail": 1, "not enough data": 3}
"""Exit code of ``toolbench gate`` (2 is a wrong input, as everywhere)."""

MIN_N = 20


@dataclass(frozen=True)
class GateResult:
    """One gate on one result of a run; ``n`` is the number of observations behind ``value``."""

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

    def __str__(self) -> str:
        """One line per gate and result, then the verdict."""
        lines = [
            f"{r.outcome:<15} {r.gate:<22} {'/'.join(getattr(r, name) for name in GROUP)}: {r.reason}"
            for r in self.results
        ]
        note = "; these are not the gates that were fixed before the run" if self.changed_after_run else ""
        return "\n".join([*lines, f"gates {self.version} ({self.hash[:8]}{note}): {self.outcome}"])


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
        When the run has no gates and none are given.
    """
    header = scored.log.header
    chosen: Mapping[str, Any] | None = gates if gates is not None else header.gates
    if chosen is None:
        raise InputError(
            f"run {header.run_id}: no gates were fixed before the run; name a file under gates in "
            "config.json, or give one now (the report will say that it came later)"
        )
    figures = metrics(scored.attempts, (), scored.planned)
    controls = {name for name, condition in header.load_conditions().items() if condition.control}
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


def _evaluate(gate: Mapping[str, Any], figures: pd.DataFrame, controls: set[str]) -> Iterator[GateResult]:
    chosen = _applicable(gate.get("where", {}), figures, controls)
    rows = chosen[chosen["metric"] == gate["metric"]]
    if rows.empty:
        yield _judge(gate, {**dict.fromkeys(GROUP, "-"), "value": None, "ci_low": None, "ci_high": None}, 0)
    scored = chosen[chosen["metric"] == "scored"].set_index(GROUP)["value"]
    for row in records(rows):
        counted = row["denominator"]
        n = int(scored[tuple(row[name] for name in GROUP)] if pd.isna(counted) else counted)
        yield _judge(gate, row, n)


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
    interval = f" [{low:.4g}, {high:.4g}]" if low is not None and high is not None else ""
    return GateResult(
        **_names(gate),
        **{name: row[name] for name in GROUP},
        value=value,
        n=n,
        ci_low=low,
        ci_high=high,
        outcome=outcome,
        reason=f"{gate['metric']} {shown}{interval}, limit {_names(gate)['limit']}, n {n}{why}",
    )


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
    # Strictly inside: no run can show more than 0 of n or n of n, so a limit at the end of the scale is met.
    if gate["decide"] == "interval" and low is not None and high is not None and low < bound < high:
        return "not enough data", " (the limit is inside the interval)"
    return ("fail" if broken else "pass"), ""
