"""From a run's log to tidy frames: one row an attempt, one row a call, one row a finding."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from toolbench.domain.keys import PlayerKey
from toolbench.domain.log import LOG_NAME, BadLine, RunLog
from toolbench.domain.suite import Suite
from toolbench.judging.score import score
from toolbench.numbers import cache as parquet
from toolbench.numbers.rows import (
    ATTEMPT,
    CALL,
    DTYPES,
    FINDING,
    GROUP,
    attempt_row,
    call_rows,
    case_facts,
    finding_rows,
    identity,
)

PLANNED = [*GROUP, "case_id", "case_class", "repetition", "tags"]
CHUNK = 4096
"""Rows kept as Python objects before they are packed into columns."""


@dataclass(frozen=True)
class ScoredRun:
    """A run read and judged.

    Attributes
    ----------
    log
        Header and access to the complete records.
    attempts
        One row an attempt; see :func:`load` for the columns.
    calls
        One row a proposed call: the group columns, ``case_id``, ``case_class``, ``repetition``, ``index``,
        ``turn``, ``tool``, ``raw_arguments``, ``state``, ``tier``, ``repairs``, ``role`` (``expected``,
        ``extra``, ``corrected``), ``exact``, ``normalized``, ``codes``, ``effect`` (``read``, ``write``,
        missing for an unknown tool), ``nested`` (an argument is an object or a list), ``error`` (code of
        the result where that is an error).
    findings
        One row a finding: the group columns, ``case_id``, ``case_class``, ``repetition``, ``code``,
        ``layer``, ``path``, ``expected``, ``actual``, ``reason``.
    planned
        One row an attempt the run was to make, in running order: the group columns, ``case_id``,
        ``case_class``, ``repetition``, ``tags``.
    problems
        Lines of the log that could not be used.
    """

    log: RunLog
    attempts: pd.DataFrame
    calls: pd.DataFrame
    findings: pd.DataFrame
    planned: pd.DataFrame
    problems: list[BadLine]

    @property
    def missing(self) -> int:
        """Planned attempts that were never made."""
        return len(self.planned) - len(self.attempts)


def load(run: str | Path, cache: bool = False) -> pd.DataFrame:
    """Return one row per attempt of a run.

    Parameters
    ----------
    cache
        Keep the frame as a parquet file beside the log and use it as long as the log does not change.
        Needs pyarrow, and is ignored without it.

    Columns
    -------
    provider, model, protocol, suite, lang, condition, case_id, case_class, repetition, tags
        Identity; ``repetition`` counts from 0, ``tags`` is a tuple.
    status, stop, error
        ``ok``, ``transport_error``, ``unsupported`` or ``budget``; how the conversation ended; one redacted
        line about what failed.
    scored
        Whether the attempt was judged (``status`` is ``ok``).
    kind, codes, signature, answer, missing_tools
        First decision, finding codes (a tuple), normalised behaviour, final text, tools of expected calls
        that were not made (a tuple).
    case_hash
        First digits of the case's SHA-256: cases of two runs are the same only when these agree.
    control, call_due, write_on_offer, chain_due, write_due, nested_due, tools_due
        Facts of the case under the condition: no call was possible; only a call is right; a write tool is
        on offer; there are calls to carry through; one of these writes; one of these has an argument that
        is an object or a list; tools of all expected calls (a tuple).
    passed … loops
        Sufficient statistics as floats (NaN when not scored); their sums give every metric.
    tool_selected_correctly … tool_execution_success
        The five flags; missing where the question does not arise.
    turns, latency_ms, first_token_ms, seconds
        Requests answered, time of all of them in ms, first token of the first turn in ms, wall time in s.
    input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost, currency
        Tokens (cached are part of input, reasoning of output) and cost; NaN where unknown.
    failed_tries, unpriced_tries
        Requests that failed, and those among them that may have been billed without a usage report.

    Raises
    ------
    LogError
        When there is no usable log.
    """
    log = Path(run) / LOG_NAME if Path(run).is_dir() else Path(run)
    kept = parquet.read(log) if cache and log.exists() else None
    if kept is not None:
        return kept
    attempts = load_run(run).attempts
    if cache:
        parquet.write(log, attempts)
    return attempts


def load_run(run: str | Path) -> ScoredRun:
    """Read a run and judge every attempt of it, one record in memory at a time."""
    log = RunLog.open(Path(run))
    suites, conditions = log.header.load_suites(), log.header.load_conditions()
    prices = {PlayerKey.of(player): player.get("price") for player in log.header.players}

    @functools.cache
    def facts(suite: str, lang: str, case_id: str, condition: str) -> dict[str, Any]:
        case = suites[suite].case_by_key[lang, case_id]
        return case_facts(suites[suite], case, conditions[condition])

    attempts, calls, findings = _Table(ATTEMPT), _Table(CALL), _Table(FINDING)
    for attempt in log.attempts:
        of_case = facts(attempt.suite, attempt.lang, attempt.case_id, attempt.condition)
        price = prices[attempt.key.player]
        verdict = score(attempt, suites[attempt.suite], conditions[attempt.condition])
        who = identity(attempt, of_case["case_class"])
        attempts.add({**who, **of_case, **attempt_row(attempt, verdict, price)})
        if verdict is not None:
            for row in call_rows(verdict):
                calls.add({**who, **row})
            for row in finding_rows(verdict):
                findings.add({**who, **row})
    return ScoredRun(
        log=log,
        attempts=attempts.frame(),
        calls=calls.frame(),
        findings=findings.frame(),
        planned=_planned(log, suites),
        problems=log.problems,
    )


def _planned(log: RunLog, suites: dict[str, Suite]) -> pd.DataFrame:
    table = _Table(PLANNED)
    for plan in log.header.plan(suites):
        case = suites[plan.suite].case_by_key[plan.lang, plan.case_id]
        values = (*plan[:7], case.klass, plan.repetition, tuple(sorted(case.tags)))
        table.add(dict(zip(PLANNED, values, strict=True)))
    return table.frame()


class _Table:
    """Collects rows and packs them chunk by chunk, so that memory holds columns and not dictionaries."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = list(columns)
        self._types = {name: DTYPES.get(name, "object") for name in columns}
        self._rows: list[tuple[Any, ...]] = []
        self._chunks: list[pd.DataFrame] = []
        self._known: dict[str, str] = {}

    def add(self, row: dict[str, Any]) -> None:
        """Take one row; a column it lacks is missing."""
        # Equal texts share one object: identities and signatures repeat thousands of times.
        self._rows.append(
            tuple(
                self._known.setdefault(value, value) if isinstance(value := row.get(name), str) else value
                for name in self._columns
            )
        )
        if len(self._rows) == CHUNK:
            self._pack()

    def frame(self) -> pd.DataFrame:
        """Return everything collected; an empty table has the same columns and types as a full one."""
        if self._rows or not self._chunks:
            self._pack()
        return pd.concat(self._chunks, ignore_index=True)

    def _pack(self) -> None:
        columns = list(zip(*self._rows, strict=True)) or [()] * len(self._columns)
        packed = {
            name: pd.Series(list(values), dtype=self._types[name])
            for name, values in zip(self._columns, columns, strict=True)
        }
        self._chunks.append(pd.DataFrame(packed))
        self._rows = []
