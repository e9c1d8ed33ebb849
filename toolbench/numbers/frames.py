"""From a run's log to tidy frames: one row an attempt, one row a call, one row a finding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from toolbench.domain.log import LOG_NAME, BadLine, RunLog
from toolbench.domain.suite import Suite
from toolbench.numbers import cache as parquet
from toolbench.numbers.rows import ATTEMPT, CALL, CASE, FINDING, GROUP, call_rows, finding_rows
from toolbench.numbers.scorer import Scorer, Table

PLANNED = [*GROUP, *CASE, "tags"]


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
        One row a proposed call: the group columns, ``case_id``, ``scenario``, ``case_class``, ``repetition``,
        ``index``, ``turn``, ``tool``, ``raw_arguments``, ``state``, ``tier``, ``repairs``, ``role``
        (``expected``, ``extra``, ``corrected``), ``exact``, ``normalized``, ``codes``, ``effect`` (``read``,
        ``write``, missing for an unknown tool), ``nested`` (an argument is an object or a list), ``error``
        (code of the result where that is an error).
    findings
        One row a finding: the group columns, ``case_id``, ``scenario``, ``case_class``, ``repetition``,
        ``code``, ``layer``, ``path``, ``expected``, ``actual``, ``reason``.
    planned
        One row an attempt the run was to make, in running order: the group columns,
        ``case_id``, ``scenario``, ``case_class``, ``repetition``, ``tags``.
    problems
        Lines of the log that could not be used.
    """

    log: RunLog
    attempts: pd.DataFrame
    calls: pd.DataFrame
    findings: pd.DataFrame
    planned: pd.DataFrame
    problems: list[BadLine]

    @cached_property
    def suites(self) -> Mapping[str, Suite]:
        """The suites as they were when the run started."""
        return self.log.header.load_suites()

    @property
    def judge_errors(self) -> list[str]:
        """One line per attempt that toolbench could not play or judge."""
        failed = self.attempts[self.attempts["status"] == "judge_error"]
        names = [*GROUP, "case_id", "repetition", "error"]
        return [
            f"{'/'.join(map(str, key))}: not judged: {reason}"
            for *key, reason in failed[names].itertuples(index=False)
        ]

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
    provider, model, protocol, suite, lang, condition, case_id, scenario, case_class, repetition, tags
        Identity; ``scenario`` is the case that this one is a variant of (variants are not independent),
        ``repetition`` counts from 0, ``tags`` is a tuple.
    status, stop, error
        ``ok``, ``transport_error``, ``unsupported``, ``budget`` or ``judge_error``; how the conversation
        ended; one redacted line about what failed.
    scored
        Whether the attempt was judged (``status`` is ``ok``).
    kind, codes, behaviour, answer, missing_tools
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
    earlier_errors
        Times this attempt ended in a transport error before a resume made it again; what those tries used
        up is part of tokens, cost and failed tries.

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
    scorer = Scorer.of(log.header)
    attempts, calls, findings = Table(ATTEMPT), Table(CALL), Table(FINDING)
    for attempt in log.attempts:
        row, verdict = scorer.judged(attempt)
        attempts.add(row)
        if verdict is not None:
            who = {name: row[name] for name in (*GROUP, *CASE)}
            for call in call_rows(verdict):
                calls.add({**who, **call})
            for finding in finding_rows(verdict):
                findings.add({**who, **finding})
    return ScoredRun(
        log=log,
        attempts=attempts.frame(),
        calls=calls.frame(),
        findings=findings.frame(),
        planned=_planned(log, scorer.suites),
        problems=log.problems,
    )


def _planned(log: RunLog, suites: Mapping[str, Suite]) -> pd.DataFrame:
    table = Table(PLANNED)
    for plan in log.header.plan(suites):
        case = suites[plan.suite].case_by_key[plan.lang, plan.case_id]
        values = (*plan[:7], case.scenario, case.klass, plan.repetition, tuple(sorted(case.tags)))
        table.add(dict(zip(PLANNED, values, strict=True)))
    return table.frame()
