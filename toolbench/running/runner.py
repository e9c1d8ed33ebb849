"""The runner: plays a whole matrix and appends every attempt to the log."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from toolbench.adapters import adapter_for, batches_of
from toolbench.adapters.profiles import dialect_of
from toolbench.cluster.connection import require_engine
from toolbench.domain.config import Config, ModelConfig, decides_verdicts
from toolbench.domain.environment import now
from toolbench.domain.keys import AttemptKey
from toolbench.domain.log import LOG_NAME, RunLog
from toolbench.domain.log_writer import LogWriter
from toolbench.domain.record import Progress, Resumed, RunHeader
from toolbench.domain.storage import url_of
from toolbench.domain.suite import Suite
from toolbench.errors import ConfigError, LogError, ToolbenchError
from toolbench.running.batch_stand import Batching
from toolbench.running.budget import Budget
from toolbench.running.crew import Crew, CrewOf, Todo, this_process
from toolbench.running.header import differences, make_header, public_text
from toolbench.running.hosts import check_live
from toolbench.running.ledger import Ledger
from toolbench.running.patience import GIVEN_UP
from toolbench.running.redaction import redactor_for
from toolbench.running.stand import Matrix, Played
from toolbench.running.summary import RunSummary

HEARTBEAT = 0.2
"""Seconds between wake-ups of the event loop: an interrupt takes effect only when the loop wakes."""

HOPELESS = frozenset(
    {"connect", "unauthorized", "payment_required", "forbidden", "not_found", "quota_exhausted"}
)
"""Transport codes that the next attempt will meet as well; ``connect`` has had all the patience there is."""

GIVE_UP_AFTER = 3


async def run_matrix(
    config: Config,
    suites: Sequence[Suite],
    output: Path,
    *,
    resume: bool = False,
    retry_errors: bool = False,
    among: Callable[[AttemptKey], bool] = lambda _: True,
    interleaved: bool = False,
    cancel_batches: bool = False,
    scheduler: str | None = None,
    on_attempt: Callable[[Progress], None] | None = None,
    on_wait: Callable[[str], None] | None = None,
) -> RunSummary:
    """Run every planned attempt and write ``output/attempts.jsonl``.

    Parameters
    ----------
    output
        The run's folder; its name becomes the run id.
    resume
        Continue the log that is there: finished attempts are skipped.
    retry_errors
        With ``resume``: make attempts again that ended in a transport error.
    among
        Which of the planned attempts to make now: a run may be played in several sittings.
    interleaved
        Play the conditions of a case one after another and not one whole condition after the other: a run
        that stops early then has pairs to compare.
    cancel_batches
        Cancel the batches that are out when the run is stopped; otherwise they go on, and a run that is
        resumed collects them.
    scheduler
        Address of a dask scheduler whose workers play the attempts; keys come from their environment.
    on_attempt
        Called after each attempt is on disk.
    on_wait
        Called with one line whenever all requests to an endpoint wait for it, or a model is loaded.

    Raises
    ------
    InputError
        For a configuration, suite or log that cannot be used.
    ClusterError
        When a scheduler or its workers are away or cannot be used.
    """
    for model in config.runs:
        # A missing variable should be known before the first model has run for an hour.
        adapter_for(model.protocol)
        dialect_of(model)
        if model.batch is not None:
            batches_of(model)
            _refuse_batch(config, suites)
            _refuse_batch_elsewhere(scheduler, output)
    for suite in suites:
        if suite.executor.remote:
            await check_live(suite.executor, tuple(suite.contract.by_name), suite.name)
    header = make_header(config, suites, output.resolve().name)
    summary = RunSummary(path=output)
    redactor = redactor_for(config, public_text(header), [suite.executor for suite in suites])
    budget = Budget.of(config)
    async with _players(scheduler, config, suites) as crew_of:
        _make_folder(output, resume)
        with LogWriter(output, redactor) as writer:
            if not writer.empty:
                if not resume:
                    raise _holds_a_run(output)
                summary.set_aside = writer.set_torn_tail_aside()
            finished = set[AttemptKey]()
            if writer.empty and resume and url_of(output) is not None:
                raise LogError(f"{output}: no run to resume there")
            if writer.empty:
                # Also after a header that a crash had left unfinished: nothing has been made yet.
                writer.append(header)
            else:
                log = RunLog.open(output)
                writer.append(
                    Resumed(now(), header.versions, header.git_commit, _changes(log.header, header))
                )
                budget.carry_over(log, config.players)
                header, finished = log.header, _finished(log, retry_errors, summary)
            ledger = Ledger(output)
            _refuse_what_is_out(ledger, config, output)
            todo = _todo(header, finished, summary, among, interleaved)
            batching = Batching(ledger, cancel_batches, redactor)
            crew = crew_of(Matrix(config, header), redactor, budget, on_wait or (lambda _: None), batching)
            try:
                await _Pass(config, writer, summary, budget, on_attempt).run(todo, crew)
            finally:
                summary.batches_out = [lot.batch or lot.tag for lot in ledger.out]
                if ledger.out and on_wait:
                    on_wait(_still_out(ledger, output))
    return summary


def run_matrix_sync(
    config: Config,
    suites: Sequence[Suite],
    output: Path,
    *,
    resume: bool = False,
    retry_errors: bool = False,
    among: Callable[[AttemptKey], bool] = lambda _: True,
    cancel_batches: bool = False,
    scheduler: str | None = None,
    on_attempt: Callable[[Progress], None] | None = None,
    on_wait: Callable[[str], None] | None = None,
) -> RunSummary:
    """Run :func:`run_matrix` from ordinary code, also where an event loop is already running.

    An interrupt (Ctrl-C, a notebook's stop button) ends the run before it is raised again.
    """
    work = partial(
        run_matrix,
        config,
        suites,
        output,
        resume=resume,
        retry_errors=retry_errors,
        among=among,
        cancel_batches=cancel_batches,
        scheduler=scheduler,
        on_attempt=on_attempt,
        on_wait=on_wait,
    )
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    return _in_a_thread(work)


def _in_a_thread(work: Callable[[], Coroutine[Any, Any, RunSummary]]) -> RunSummary:
    """Run on a loop of its own while the caller's cannot be used, and stop when the caller is interrupted."""
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[RunSummary]]] = Future()
    outcome: Future[RunSummary] = Future()

    async def main() -> RunSummary:
        task = asyncio.ensure_future(work())
        started.set_result((asyncio.get_running_loop(), task))
        return await task

    def target() -> None:
        try:
            outcome.set_result(asyncio.run(main()))
        except BaseException as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=target, name="toolbench-run")
    thread.start()
    try:
        thread.join()
    except BaseException:
        loop, task = started.result()
        with suppress(RuntimeError):
            # The loop may have ended by itself a moment ago.
            loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise
    return outcome.result()


def _todo(
    header: RunHeader,
    finished: set[AttemptKey],
    summary: RunSummary,
    among: Callable[[AttemptKey], bool],
    interleaved: bool,
) -> list[AttemptKey]:
    """Return the attempts that are still to be made, in the order they are played."""
    plan = list(header.plan())
    summary.total = len(plan)
    summary.skipped = sum(planned in finished for planned in plan)
    todo = [planned for planned in plan if planned not in finished and among(planned)]
    summary.wanted = len(todo)
    if interleaved:
        place = {case: number for number, case in enumerate(dict.fromkeys(_case(one) for one in plan))}
        todo.sort(key=lambda planned: (planned.repetition, place[_case(planned)]))
    return todo


class _Pass:
    """One pass over the attempts still to be made."""

    def __init__(
        self,
        config: Config,
        writer: LogWriter,
        summary: RunSummary,
        budget: Budget,
        on_attempt: Callable[[Progress], None] | None,
    ) -> None:
        self._config = config
        self._writer = writer
        self._summary = summary
        self._budget = budget
        self._on_attempt = on_attempt
        self._hopeless, self._done, self._total = Counter[str](), Counter[str](), Counter[str]()

    async def run(self, todo: Sequence[AttemptKey], crew: Crew) -> None:
        # What earlier sessions have spent may be all there is.
        self._summary.stopped = self._budget.reached()
        heart = asyncio.create_task(_beat())
        try:
            async with crew, asyncio.TaskGroup() as group:
                # Those that wait for batches do so beside all others.
                online = [player for player in self._config.players if player.batch is None]
                waiting = [player for player in self._config.players if player.batch is not None]
                for players in (online, *([player] for player in waiting)):
                    group.create_task(self._play(players, todo, crew))
        except ExceptionGroup as errors:
            # One seat's full disk is everybody's: it is reported once, as itself.
            raise _cause(errors) from None
        finally:
            heart.cancel()

    async def _play(self, players: Sequence[ModelConfig], todo: Sequence[AttemptKey], crew: Crew) -> None:
        """Play one player after the other."""
        for player in players:
            mine = [planned for planned in todo if planned.player == player.key]
            if mine and self._summary.stopped is None:
                self._total[str(player.key)] = len(mine)
                await crew.play(player, Todo(mine, partial(self._wanted, player)), self._record)

    def _wanted(self, player: ModelConfig) -> bool:
        """Whether it makes sense to make more attempts of a player."""
        return not self._summary.stopped and str(player.key) not in self._summary.abandoned

    async def _record(self, played: Played) -> None:
        """Put an attempt on disk, and then count and report it."""
        attempt, name = played.attempt, str(played.attempt.key.player)
        if played.gone:
            self._summary.abandoned[name] = played.gone
        if attempt.stop == GIVEN_UP and not attempt.turns:
            # Nothing was sent for it: it was not made.
            return
        # A run that is stopped now has still made this attempt: the line goes out in any case.
        written = self._writer.submit(attempt if played.line is None else played.line)
        await asyncio.shield(asyncio.wrap_future(written))
        self._summary.made += 1
        self._summary.count(attempt)
        self._summary.transport_errors += attempt.status == "transport_error"
        self._summary.judge_errors += attempt.status == "judge_error"
        hopeless = attempt.status == "transport_error" and attempt.stop in HOPELESS
        self._hopeless[name] = self._hopeless[name] + 1 if hopeless else 0
        if self._hopeless[name] >= GIVE_UP_AFTER and attempt.error:
            self._summary.abandoned[name] = str(attempt.error["message"])
        self._summary.stopped = self._budget.reached()
        if self._on_attempt:
            done = self._summary.made + self._summary.skipped
            self._done[name] += 1
            self._on_attempt(
                Progress(attempt, done, self._summary.total, self._done[name], self._total[name])
            )


def _players(
    scheduler: str | None, config: Config, suites: Sequence[Suite]
) -> AbstractAsyncContextManager[CrewOf]:
    """Return who plays: the workers of a scheduler, or this process."""
    if scheduler is None:
        return this_process(config)
    require_engine()
    from toolbench.running.scaled.crew import cluster

    return cluster(scheduler, config, suites)


def _refuse_batch_elsewhere(scheduler: str | None, output: Path) -> None:
    """Refuse batches of a run that is not played and kept here: what is out is noted beside the log.

    Raises
    ------
    ConfigError
        Naming what to leave out.
    """
    if scheduler is not None:
        raise ConfigError("batches are handed in by one process: leave --scheduler or --batch out")
    if url_of(output) is not None:
        raise ConfigError(
            f"{url_of(output)}: what is out in batches is noted in a folder of this machine: choose one"
        )


def _cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the one error behind a group: what a user can act on before anything else."""
    leaves: list[BaseException] = []
    waiting: list[BaseException] = [group]
    while waiting:
        error = waiting.pop(0)
        if isinstance(error, BaseExceptionGroup):
            waiting += error.exceptions
        else:
            leaves.append(error)
    return next((error for error in leaves if isinstance(error, ToolbenchError)), leaves[0])


def _refuse_batch(config: Config, suites: Sequence[Suite]) -> None:
    """Refuse what cannot be kept while conversations wait for hours."""
    if "attempt_seconds" in config.budgets:
        raise ConfigError(
            "budgets.attempt_seconds: an attempt in batches takes hours; take it out for --batch"
        )
    for suite in suites:
        if suite.executor.remote:
            raise ConfigError(
                f"batch: suite {suite.name} has live tools, which cannot wait for hours; "
                "use a recorded script (--replay)"
            )


def _refuse_what_is_out(ledger: Ledger, config: Config, output: Path) -> None:
    """Refuse to ask online what a batch that is out has asked already."""
    asked = {lot.player for lot in ledger.out} - {str(run.key) for run in config.runs if run.batch}
    if asked:
        raise LogError(f"{_still_out(ledger, output)}, or ask the provider to cancel them")


def _still_out(ledger: Ledger, output: Path) -> str:
    shown = ", ".join(lot.batch or "one without a known id" for lot in ledger.out[:3])
    more = f" and {len(ledger.out) - 3} more" if len(ledger.out) > 3 else ""
    how = f"--batch --resume --output {output}"
    return f"{output}: batches are still out ({shown}{more}); collect them with {how}"


def _case(planned: AttemptKey) -> tuple[str, str, str]:
    return planned.suite, planned.lang, planned.case_id


def _make_folder(output: Path, resume: bool) -> None:
    if url_of(output) is not None:
        # There are no folders in object storage, and the writer sees what is there.
        return
    log = output / LOG_NAME
    if log.exists() and log.stat().st_size and not resume:
        raise _holds_a_run(output)
    if resume and not log.exists():
        raise LogError(f"{log}: no run to resume there")
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise LogError(f"{output}: cannot be created ({fault.strerror})") from None


def _holds_a_run(output: Path) -> LogError:
    return LogError(f"{output}: already holds a run; add --resume to continue it or choose another folder")


def _changes(old: RunHeader, fresh: RunHeader) -> list[str]:
    """Return the settings that have changed since the run began and decide no verdict.

    Raises
    ------
    LogError
        When something has changed that does: models, their settings, suites, conditions or gates.
    """
    decisive = [
        *differences(decides_verdicts(old.config), decides_verdicts(fresh.config), "config."),
        *differences({**old.hashes, "config": None}, {**fresh.hashes, "config": None}),
    ]
    if decisive:
        raise LogError(
            f"{old.run_id}: cannot be resumed, since the run started these changed: {', '.join(decisive)}; "
            "restore them or start a new run"
        )
    return [
        *differences(old.config, fresh.config, "config."),
        *differences(old.versions, fresh.versions, "versions."),
    ]


def _finished(log: RunLog, retry_errors: bool, summary: RunSummary) -> set[AttemptKey]:
    """Return the attempts that need not be made again, counted."""
    again = ("transport_error", "judge_error") if retry_errors else ()
    finished: set[AttemptKey] = set()
    for attempt in log.attempts:
        if attempt.status not in again:
            finished.add(attempt.key)
            summary.count(attempt)
    return finished


async def _beat() -> None:
    while True:
        await asyncio.sleep(HEARTBEAT)
