"""One run at a time: started, watched, stopped and continued, with everything it yields on disk first."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from toolbench.domain.keys import AttemptKey
from toolbench.domain.log import LOG_NAME
from toolbench.domain.plurals import plural
from toolbench.domain.record import Attempt, Progress
from toolbench.errors import InputError, ToolbenchError
from toolbench.numbers.rows import ATTEMPT, of_models
from toolbench.numbers.scorer import Scorer, Table
from toolbench.running.runner import run_matrix
from toolbench.running.summary import RunSummary
from toolbench.showing.view import RunView
from toolbench.workbench.choosing import Plan

TICK = 0.4
"""Seconds between two refreshes of what is on the screen while a run goes on."""
UNHEARD = (signal.SIG_IGN, signal.default_int_handler)
"""How an idle kernel takes an interrupt: not at all, or as an error between two cells when messages met."""
KEY = list(AttemptKey._fields)

State = Literal["idle", "running", "stopping", "stopped", "finished", "failed"]


class LiveRun:
    """A run that is being written: what was on disk when it was opened, and every attempt since."""

    def __init__(self, folder: Path) -> None:
        self.view = RunView(folder)
        self._scorer = Scorer.of(self.view.header)
        self._fresh = Table(ATTEMPT)
        self._frame: pd.DataFrame | None = self.view.attempts

    def add(self, attempt: Attempt) -> None:
        """Judge one more attempt."""
        row, _ = self._scorer.sampled(attempt)
        self._fresh.add(row)
        self._frame = None

    @property
    def attempts(self) -> pd.DataFrame:
        """One row an attempt, as in ``RunView.attempts``."""
        if self._frame is None:
            # An attempt that was tried again counts as it ended last.
            every = pd.concat([self.view.attempts, self.view.named(self._fresh.frame())])
            self._frame = every.drop_duplicates(KEY, keep="last", ignore_index=True)
        return self._frame


class Session:
    """The one run of a workbench. ``on_change`` is called whenever there is something new to show."""

    def __init__(self, runs: Path, on_change: Callable[[], None] = lambda: None) -> None:
        self.runs = runs
        self.on_change = on_change
        self.state: State = "idle"
        self.problem: str | None = None
        self.plan: Plan | None = None
        self.folder: Path | None = None
        self.live: LiveRun | None = None
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.home: asyncio.AbstractEventLoop | None = None
        self._before: Any = signal.SIG_IGN
        self._started = self._ended = 0.0
        self._made = 0

    @property
    def busy(self) -> bool:
        """Whether a run goes on."""
        return self._task is not None and not self._task.done()

    @property
    def seconds(self) -> float:
        """How long the run has been going, or went."""
        return (time.monotonic() if self.busy else self._ended) - self._started

    @property
    def left(self) -> float | None:
        """Seconds the rest will take at the pace of this sitting; ``None`` before anything has been made."""
        attempts = self.attempts
        if not self.busy or not self._made or attempts is None or self.plan is None:
            return None
        return self.seconds / self._made * (self.plan.total - len(attempts))

    @property
    def complete(self) -> bool:
        """Whether every planned attempt has been made without a transport error."""
        made = self.attempts
        if made is None or self.plan is None:
            return False
        return len(made) == self.plan.total and not (made["status"] == "transport_error").any()

    @property
    def attempts(self) -> pd.DataFrame | None:
        """Judged attempts so far, or ``None`` before the first."""
        return self.live.attempts if self.live else None

    def start(self, plan: Plan) -> asyncio.Task[None]:
        """Start a run in a folder of its own; needs a running event loop.

        Raises
        ------
        InputError
            When a run is going on already.
        """
        self._refuse_a_second()
        self.plan, self.folder, self.live = plan, _new_folder(self.runs, plan.suite.name), None
        return self._begin(resume=False)

    def resume(self) -> asyncio.Task[None]:
        """Make the attempts that a stopped or failed run lacks.

        Raises
        ------
        InputError
            When there is nothing to continue.
        """
        self._refuse_a_second()
        if self.plan is None or self.folder is None:
            raise InputError("there is no run to continue")
        return self._begin(resume=(self.folder / LOG_NAME).exists())

    def find_home(self) -> None:
        """Remember the loop of the main thread; a press of a button may be handled in another one."""
        if threading.current_thread() is threading.main_thread():
            with suppress(RuntimeError):
                self.home = asyncio.get_running_loop()

    def stop(self) -> None:
        """Ask the run to end. Finished attempts are on disk already; those in flight are dropped."""
        if self.busy and self._task is not None:
            self.state = "stopping"
            self._task.cancel()
            self.on_change()

    def _refuse_a_second(self) -> None:
        if self.busy:
            raise InputError("a run is going on; stop it before starting another")

    def _begin(self, resume: bool) -> asyncio.Task[None]:
        self.state, self.problem = "running", None
        self._started, self._made = time.monotonic(), 0
        self._loop = asyncio.get_running_loop()
        self.find_home()
        self._task = self._loop.create_task(self._run(resume), name="toolbench-workbench")
        self.on_change()
        return self._task

    async def _run(self, resume: bool) -> None:
        assert self.plan is not None
        assert self.folder is not None
        watch = asyncio.create_task(self._watch())
        try:
            summary = await run_matrix(
                self.plan.config,
                [self.plan.suite],
                self.folder,
                resume=resume,
                retry_errors=resume,
                interleaved=True,
                on_attempt=self._take,
                on_wait=self._wait,
            )
            self.state, self.problem = "finished", _shortfall(summary)
        except asyncio.CancelledError:
            asked, self.state = self.state == "stopping", "stopped"
            self._read_again()
            if not asked:
                raise
        except ToolbenchError as fault:
            self.state, self.problem = "failed", str(fault)
        except Exception as fault:
            # A fault of toolbench itself must be seen on the screen: nobody awaits a button's task.
            self.state, self.problem = "failed", f"{type(fault).__name__}: {fault}"
        finally:
            watch.cancel()
            self._at_home(self._leave)
            with suppress(OSError):
                # A run that could not even begin leaves no folder.
                self.folder.rmdir()
            self._ended = time.monotonic()
            asyncio.get_running_loop().call_soon(self.on_change)

    def _read_again(self) -> None:
        """Take over what reached the disk while the run was being stopped and nobody was told of."""
        assert self.folder is not None
        if (self.folder / LOG_NAME).exists():
            found = LiveRun(self.folder)
            self.live = found if len(found.attempts) else None

    def _wait(self, line: str) -> None:
        self.problem = line
        self.on_change()

    def _take(self, progress: Progress) -> None:
        assert self.folder is not None
        self.problem = None
        self._made += 1
        if self.live is None:
            self.live = LiveRun(self.folder)
        else:
            self.live.add(progress.attempt)

    async def _watch(self) -> None:
        """Refresh while the run goes on, also when no attempt arrives: time passes."""
        while True:
            await asyncio.sleep(TICK)
            # After every cell the kernel puts its own handler back, so this one is set again.
            self._at_home(self._listen)
            self.on_change()

    def _at_home(self, work: Callable[[], None]) -> None:
        """Do something in the main thread, if its loop is known: signals are its affair alone."""
        if self.home is not None and not self.home.is_closed():
            self.home.call_soon_threadsafe(work)

    def _listen(self) -> None:
        """Take interrupts for Stop while the kernel is idle; a cell that awaits has its own handler."""
        now = signal.getsignal(signal.SIGINT)
        if self.busy and now in UNHEARD:
            self._before = now
            signal.signal(signal.SIGINT, self._interrupted)

    def _leave(self) -> None:
        if signal.getsignal(signal.SIGINT) == self._interrupted:
            signal.signal(signal.SIGINT, self._before)

    def _interrupted(self, number: int, frame: object) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.stop)


def spent(attempts: pd.DataFrame) -> str:
    """Return tokens and cost of attempts as one phrase; what is unknown is said to be unknown."""
    models = attempts[of_models(attempts)]
    if models.empty:
        return "nothing spent: baselines only"
    tokens = models[["input_tokens", "output_tokens"]].sum().sum()
    known = models[models["cost"].notna()]
    costs = [f"{total:.4f} {currency}" for currency, total in known.groupby("currency")["cost"].sum().items()]
    unknown = len(models) - len(known)
    if unknown:
        costs.append(f"unknown for {plural(unknown, 'attempt')}")
    return f"{tokens:,.0f} tokens · cost {' + '.join(costs)}"


def duration(seconds: float) -> str:
    """Return a time as one reads it: seconds below two minutes, else minutes, else hours."""
    for size, unit in ((7200.0, "h"), (120.0, "min")):
        if seconds >= size:
            return f"{seconds / (size / 2):.0f} {unit}"
    return f"{seconds:.0f} s"


def status(session: Session, attempts: pd.DataFrame | None) -> str:
    """Return one line on how the run is going."""
    if session.plan is None or session.folder is None:
        return "Nothing has been run yet."
    made = 0 if attempts is None else len(attempts)
    line = f"{session.state} · {made} of {plural(session.plan.total, 'attempt')} · {session.seconds:.1f} s"
    if session.left is not None:
        line += f" · about {duration(session.left)} left"
    if attempts is not None:
        line += f" · {spent(attempts)}"
    if session.state == "stopped":
        line += f" · everything that was finished is kept in {session.folder}"
    return f"{line} · {session.problem}" if session.problem else line


def _shortfall(summary: RunSummary) -> str | None:
    if summary.abandoned:
        return "given up after repeated failure: " + "; ".join(
            f"{name}: {reason}" for name, reason in summary.abandoned.items()
        )
    return summary.stopped or (
        plural(summary.transport_errors, "transport error") if not summary.complete else None
    )


def _new_folder(runs: Path, suite: str) -> Path:
    """Make a folder that nobody else has: two notebooks may start in the same second."""
    name = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{suite}"
    for number in count(1):
        folder = runs / (name if number == 1 else f"{name}-{number}")
        with suppress(FileExistsError):
            folder.mkdir(parents=True)
            return folder
    raise AssertionError("there is always a next number")
