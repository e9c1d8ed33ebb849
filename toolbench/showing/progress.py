"""Progress of a run, one display each for terminals and notebooks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar

from toolbench.domain.record import Progress
from toolbench.showing.html import paragraph, visible


class TerminalProgress:
    """A progress bar a player on stderr; use as a context manager and pass it as ``on_attempt``.

    One bar for all would jump over the players that answer at once and then stand still.
    """

    def __init__(self) -> None:
        self._bar: Any = None
        self._player: tuple[str, ...] = ()

    def __enter__(self) -> TerminalProgress:
        return self

    def __call__(self, progress: Progress) -> None:
        """Show one more attempt."""
        from tqdm import tqdm

        attempt = progress.attempt
        player = attempt.provider, attempt.model, attempt.protocol
        if self._bar is None or player != self._player:
            self.close()
            self._player = player
            self._bar = tqdm(total=progress.player_total, unit="attempt", file=sys.stderr, dynamic_ncols=True)
        name = visible(attempt.model[:28]).replace("\n", " ")
        self._bar.set_description_str(f"{name} {attempt.lang} {attempt.condition}", refresh=False)
        self._bar.set_postfix_str(f"{progress.done}/{progress.total} of the run", refresh=False)
        self._bar.update(1)

    def close(self) -> None:
        """End the bar that is shown."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def wait(self, line: str) -> None:
        """Show why nothing is happening; pass it as ``on_wait``."""
        from tqdm import tqdm

        tqdm.write(visible(line).replace("\n", " "), file=sys.stderr)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ReportProgress:
    """What a report is at, on one line of stderr; use as a context manager and pass it as ``watch``."""

    TOLD: ClassVar = {
        "reading": "reading the log",
        "judging": "judging",
        "figures": "writing report.json and errors.csv",
        "drawing": "drawing",
        "page": "writing the page",
    }

    def __init__(self) -> None:
        self._bar: Any = None
        self._stage = ""

    def __enter__(self) -> ReportProgress:
        return self

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show one more step."""
        from tqdm import tqdm

        if stage != self._stage:
            self.__exit__(None, None, None)
            self._stage = stage
            if total:
                self._bar = tqdm(total=total, desc=self.TOLD[stage], file=sys.stderr, dynamic_ncols=True)
            else:
                print(f"{self.TOLD[stage]} …", file=sys.stderr)
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class NotebookProgress:
    """One line in a cell's output that is replaced, not repeated: it needs no widget.

    Parameters
    ----------
    said
        What the line says of an attempt.
    """

    def __init__(self, said: Callable[[Progress], str] | None = None) -> None:
        self._said = said or _attempt_line
        self._handle: Any = None

    def __call__(self, progress: Progress) -> None:
        """Show one more attempt."""
        from IPython.display import display

        line = paragraph(self._said(progress))
        if self._handle is None:
            self._handle = display(line, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(line)


def _attempt_line(progress: Progress) -> str:
    attempt = progress.attempt
    return (
        f"{progress.done} of {progress.total} attempts · {attempt.model} · {attempt.lang} "
        f"· {attempt.condition} · {attempt.case_id}: {attempt.status}"
    )
