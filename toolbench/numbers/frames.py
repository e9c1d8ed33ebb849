"""From a run's log to tidy frames: one row an attempt, one row a call, one row a finding."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pandas as pd

from toolbench.domain.extensions import is_local
from toolbench.domain.log import BadLine, RunLog, log_of, read_header
from toolbench.domain.record import RunHeader
from toolbench.domain.storage import put_back
from toolbench.domain.suite import Suite
from toolbench.errors import InputError
from toolbench.numbers import cache as verdicts
from toolbench.numbers.counted import KEY, places, samples
from toolbench.numbers.metrics import metrics
from toolbench.numbers.people import NO_LABELS, People, people
from toolbench.numbers.rows import ATTEMPT, CASE, GROUP
from toolbench.numbers.scorer import Scorer, Table
from toolbench.numbers.shards import (
    PLACE,
    count_lines,
    join,
    score_part,
    score_parts,
    score_parts_on,
    split,
    whole_lines,
)

IN_PROCESSES = 5_000
"""Lines of a log from which on it is judged in several processes: starting one takes a second."""
LEAST_PART = 2_000
"""Lines that are worth a process of their own."""
MOST_PART = 2**28
"""Bytes that one process judges at most: more and smaller parts keep memory level."""
FAR_PART = 2**22
"""Bytes that a worker of a cluster judges at a time: they travel through its scheduler."""
ALONE = "judged here and not on the cluster: labels and checks of this process are known to no worker"
UNTIL = "until"
"""The label of a header that holds the rule of a run played round by round."""
IDENTITY = ["run_id", "started_at"]
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
        ``index``, ``turn``, ``tool``, ``raw_arguments``, ``state``, ``tier``, ``repairs``, ``origins``
        (a tuple of ``path: where from``, see :func:`toolbench.judging.provenance.origins`), ``role``
        (``expected``, ``extra``, ``corrected``, ``repeat`` beyond what is allowed, ``poll`` within it,
        ``free`` where no call is due),
        ``exact``, ``normalized``, ``codes``, ``effect`` (``read``,
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
    people
        What people have said, where the figures use it.
    reused
        One line per player whose replies have ids that came twice.
    notes
        What else is worth telling about the reading, a line each.
    """

    log: RunLog
    attempts: pd.DataFrame
    calls: pd.DataFrame
    findings: pd.DataFrame
    planned: pd.DataFrame
    problems: list[BadLine]
    people: People = NO_LABELS
    reused: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)

    @cached_property
    def suites(self) -> Mapping[str, Suite]:
        """The suites as they were when the run started."""
        return self.log.header.load_suites()

    @cached_property
    def figures(self) -> pd.DataFrame:
        """Every figure of the run: :func:`toolbench.metrics` of its attempts and plan."""
        return metrics(self.attempts, planned=self.planned)

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


def load(
    *runs: str | Path | pd.DataFrame,
    cache: bool = True,
    labels: bool = False,
    scheduler: str | None = None,
) -> pd.DataFrame:
    """Return one row per attempt of one or several runs.

    Parameters
    ----------
    runs
        Folders of runs or their logs, patterns of these (``"runs/night-*"``), or frames of this kind.
    cache
        Use and keep verdicts beside long logs, as parquet: a log that has grown is judged only where it grew.
        Needs pyarrow, and is ignored without it.
    labels
        Put what people have said beside a log in place of what the judge found; such a frame is not kept.
    scheduler
        Address of a dask scheduler whose workers judge (extra ``scale``).

    Columns
    -------
    run_id, started_at
        The run, and when it began (ISO 8601).
    provider, model, protocol, suite, lang, condition, case_id, scenario, case_class, repetition, tags
        Identity; ``scenario`` is the case that this one is a variant of (variants are not independent),
        ``repetition`` counts from 0, ``tags`` is a tuple.
    status, stop, error
        ``ok``, ``transport_error``, ``unsupported``, ``budget``, ``judge_error``, or ``cached`` (the replies
        are another attempt's); how the conversation ended; one redacted line about what failed.
    scored
        Whether the attempt was judged (``status`` is ``ok``, or ``budget``: a failure).
    kind, codes, behaviour, answer, missing_tools
        First decision, finding codes (a tuple), normalised behaviour, final text, tools of expected calls
        that were not made (a tuple).
    case_hash
        First digits of the case's SHA-256: cases of two runs are the same only when these agree.
    control, decision_due, call_due, write_on_offer, chain_due, write_due, nested_due, tools_due
        Facts of the case under the condition: no call was possible; the decision is the model's; only a call
        is right; a write tool is on offer; there are calls to carry through; one of these writes; one of
        these has an argument that is an object or a list; tools of all expected calls (a tuple).
    passed … loops
        Sufficient statistics as floats (NaN when not scored); their sums give every metric.
    tool_selected_correctly … tool_execution_success
        The five flags; missing where the question does not arise.
    turns, latency_ms, first_token_ms, seconds
        Requests answered, time of all of them in ms, first token of the first turn in ms, wall time in s.
    input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost, currency, price_table
        Tokens (cached are part of input, reasoning of output) and cost; NaN where unknown. A cost that a
        router has charged has a currency of its own, such as ``USD (charged)``.
    via
        ``batch``, or ``batch+online``, where replies came through a batch endpoint: such an attempt has no
        latency, and its price table says so.
    failed_tries, unpriced_tries
        Requests that failed, and those among them that may have been billed without a usage report.
    earlier_errors
        Times this attempt ended in a transport error before a resume made it again; what those tries used
        up is part of tokens, cost and failed tries.

    Raises
    ------
    LogError
        When there is no usable log.
    InputError
        When no run is named, a pattern fits none, a frame lacks columns, or a run is there twice.
    """
    frames = [frame for run in runs for frame in _frames(run, cache, labels, scheduler)]
    if not frames:
        raise InputError("load: name a run: its folder, its log, or a frame of attempts")
    found: dict[str, str] = {}
    for name, frame in frames:
        for run_id in frame["run_id"].unique():
            if run_id in found:
                raise InputError(f"load: run {run_id} is there twice: {found[run_id]} and {name}")
            found[run_id] = name
    return frames[0][1] if len(frames) == 1 else pd.concat([frame for _, frame in frames], ignore_index=True)


def _frames(
    run: str | Path | pd.DataFrame, cache: bool, labels: bool, scheduler: str | None
) -> Iterator[tuple[str, pd.DataFrame]]:
    if isinstance(run, pd.DataFrame):
        require(run, [*IDENTITY, *ATTEMPT], "load")
        yield "a frame", run
        return
    path = Path(run)
    paths = (
        [path] if path.exists() or not glob.has_magic(str(run)) else sorted(map(Path, glob.glob(str(run))))
    )
    if not paths:
        raise InputError(f"load: nothing is called {run}")
    for one in paths:
        yield str(one), _frame(one, cache and not labels, labels, scheduler)


def _frame(run: Path, cache: bool, labels: bool, scheduler: str | None) -> pd.DataFrame:
    scored = load_run(run, cache=cache, labels=labels, scheduler=scheduler)
    header, attempts = scored.log.header, scored.attempts
    attempts.insert(0, "run_id", pd.Series(header.run_id, index=attempts.index, dtype="str"))
    attempts.insert(1, "started_at", pd.Series(header.started_at, index=attempts.index, dtype="str"))
    return attempts


def require(frame: pd.DataFrame, columns: Sequence[str], who: str) -> None:
    """Refuse a frame that lacks columns, in one line.

    Raises
    ------
    InputError
        With the names of the columns.
    """
    lacking = [name for name in columns if name not in frame.columns]
    if lacking:
        more = f" and {len(lacking) - 5} more" if len(lacking) > 5 else ""
        raise InputError(
            f"{who}: the frame lacks {', '.join(lacking[:5])}{more}; take one made by toolbench.load"
        )


def load_run(
    run: str | Path,
    watch: Callable[[int, int], None] | None = None,
    *,
    labels: bool = False,
    cache: bool = True,
    scheduler: str | None = None,
) -> ScoredRun:
    """Read a run and judge every attempt of it, one record in memory at a time.

    Parameters
    ----------
    watch
        Called now and then with the number of lines judged so far and the number there is.
    labels
        Put what people have said (``labels.jsonl`` beside the log) in place of what the judge found; the
        signature then names them. Such verdicts are not kept.
    cache
        Use and keep verdicts beside the log (see :mod:`toolbench.numbers.cache`).
    scheduler
        Address of a dask scheduler whose workers judge; not used with ``labels`` and checks of this process.
    """
    path = log_of(Path(run))
    header = read_header(path)
    said = people(RunLog.open(path)) if labels else NO_LABELS
    scorer = Scorer.of(header, said.by_attempt)
    # What people have said, and what this process alone has registered, is known to no other and not kept.
    alone = labels or is_local("checks", "normalizers")
    kept = verdicts.read(path) if cache and not alone else verdicts.Kept()
    end = whole_lines(path)
    lines = count_lines(path, kept.end, end)
    if scheduler and not alone:
        stretches = list(split(path, kept.end, end, FAR_PART))
        fresh = score_parts_on(scheduler, path, header, stretches, watch)
    elif alone or lines < IN_PROCESSES:
        fresh = [score_part(path, kept.end, end, header, scorer, watch)]
    else:
        parts = min(os.cpu_count() or 1, lines // LEAST_PART + 1)
        size = min(MOST_PART, (end - kept.end) // parts + 1)
        fresh = score_parts(path, list(split(path, kept.end, end, size)), header, scorer, watch)
    shard = join([*([kept.shard] if kept.shard else []), *fresh])
    if cache and not alone and kept.end < end >= verdicts.WORTH_KEEPING:
        verdicts.write(path, shard, end)
        put_back(path.parent, Path(run))
    if end < path.stat().st_size:
        # A line that is still being written, or never will be: told, and not kept.
        shard = join([shard, score_part(path, end, None, header, scorer)])
    there = shard.frames["attempts"][[*KEY, *PLACE]]
    log = RunLog(path, header, shard.problems, shard.resumed, partial(places, there))
    frames = samples(log, scorer, shard.frames)
    made, planned = frames["attempts"], _planned(header)
    if UNTIL in header.labels:
        # What its rule spared it was never due.
        planned = planned[planned["repetition"] <= made["repetition"].max()].reset_index(drop=True)
    return ScoredRun(
        log=log,
        attempts=made,
        calls=frames["calls"],
        findings=frames["findings"],
        planned=planned,
        problems=log.problems,
        people=said,
        reused=tuple(scorer.replies.lines()),
        notes=[note for note in (kept.note, ALONE if alone and scheduler else None) if note],
    )


def _planned(header: RunHeader) -> pd.DataFrame:
    suites = header.load_suites()
    table, rows, turns = Table(PLANNED), [np.array([], dtype=np.intp)], [np.array([], dtype=np.intp)]
    known = 0
    for arms, times in header.blocks(suites):
        for names in arms:
            case = suites[names[3]].case_by_key[names[4], names[6]]
            values = (*names, case.scenario, case.klass, 0, tuple(sorted(case.tags)))
            table.add(dict(zip(PLANNED, values, strict=True)))
        rows.append(np.tile(np.arange(known, known + len(arms)), times))
        turns.append(np.repeat(np.arange(times), len(arms)))
        known += len(arms)
    every = table.frame().iloc[np.concatenate(rows)].reset_index(drop=True)
    return every.assign(repetition=np.concatenate(turns))
