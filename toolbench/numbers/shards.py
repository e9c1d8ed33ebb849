"""A stretch of a log, judged: the unit that is worked on in parallel, kept in the cache and put together.

Lines are counted from where a shard begins; joining shards counts on. Every record is judged by itself; only
when all are together is it known which of them was made again.
"""

from __future__ import annotations

import os
import pickle
import subprocess
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from toolbench.domain.keys import AttemptKey
from toolbench.domain.log import BadLine, Part
from toolbench.domain.program import program
from toolbench.domain.record import Attempt, Resumed, RunHeader
from toolbench.errors import LogError
from toolbench.numbers.rows import ATTEMPT, CALL, CASE, FINDING, GROUP, call_rows, finding_rows
from toolbench.numbers.samples import replies
from toolbench.numbers.scorer import Scorer, Table

Watch = Callable[[int, int], None]
PLACE = ["line", "position"]
"""Columns that say where the record of an attempt stands, so that frames of one shard can be told apart."""
FRAMES = {
    "attempts": [*ATTEMPT, *PLACE],
    "calls": [*CALL, *PLACE],
    "findings": [*FINDING, *PLACE],
    "replies": ["reply", *PLACE],
}
"""Frame → columns; ``reply`` is the number of :func:`toolbench.numbers.samples.replies`."""


@dataclass(frozen=True)
class Shard:
    """Verdicts on a stretch of a log.

    ``lines`` is how many lines it has; ``frames`` are those of :data:`FRAMES`, one row an attempt, a call, a
    finding and a reply, of all records in order.
    """

    lines: int
    problems: list[BadLine]
    resumed: list[Resumed]
    frames: dict[str, pd.DataFrame]


class Collected:
    """Rows of judged attempts, on their way to frames."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._tables = {name: Table(columns) for name, columns in FRAMES.items()}

    def add(self, attempt: Attempt, line: int, position: int, first: AttemptKey | None = None) -> None:
        """Judge one attempt and take its rows; ``first`` is the attempt that has had its replies before."""
        row, verdict = self._scorer.judged(attempt, first)
        place = {"line": line, "position": position}
        self._tables["attempts"].add({**row, **place})
        for reply in replies(attempt):
            self._tables["replies"].add({"reply": reply, **place})
        if verdict is not None:
            who = {**{name: row[name] for name in (*GROUP, *CASE)}, **place}
            for call in call_rows(verdict):
                self._tables["calls"].add({**who, **call})
            for finding in finding_rows(verdict):
                self._tables["findings"].add({**who, **finding})

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return everything collected."""
        return {name: table.frame() for name, table in self._tables.items()}


def score_part(
    path: Path,
    start: int,
    stop: int | None,
    header: RunHeader,
    scorer: Scorer,
    watch: Watch | None = None,
) -> Shard:
    """Judge the records between two bytes of a log, one in memory at a time.

    ``watch`` is called after every attempt with the lines judged and the lines there are.
    """
    part, rows = Part(path, header, start, stop), Collected(scorer)
    total = count_lines(path, start, stop) if watch else 0
    for line, position, attempt in part.attempts():
        rows.add(attempt, line, position)
        if watch:
            watch(line, total)
    return Shard(part.lines, part.problems, part.resumed, rows.frames())


def join(shards: Sequence[Shard]) -> Shard:
    """Put shards that follow each other together."""
    if len(shards) == 1:
        return shards[0]
    bases = [sum(shard.lines for shard in shards[:number]) for number in range(len(shards))]
    return Shard(
        lines=sum(shard.lines for shard in shards),
        problems=[
            replace(problem, line=problem.line + base)
            for shard, base in zip(shards, bases, strict=True)
            for problem in shard.problems
        ],
        resumed=[line for shard in shards for line in shard.resumed],
        frames={
            name: pd.concat(
                [
                    shard.frames[name].assign(line=shard.frames[name]["line"] + base)
                    for shard, base in zip(shards, bases, strict=True)
                ],
                ignore_index=True,
            )
            for name in FRAMES
        },
    )


def split(path: Path, start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield parts of a stretch of a log, each about ``size`` bytes long and ending between lines."""
    with open(path, "rb") as stream:
        while start < stop:
            stream.seek(min(start + size, stop) - 1)
            stream.readline()
            end = min(stream.tell(), stop)
            yield start, end
            start = end


def whole_lines(path: Path) -> int:
    """Return where the last line ends that is finished."""
    with open(path, "rb") as stream:
        end = stream.seek(0, 2)
        while end:
            start = max(0, end - 2**16)
            stream.seek(start)
            found = stream.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
    return 0


def count_lines(path: Path, start: int, stop: int | None) -> int:
    """Return how many lines end between two bytes of a log."""
    with open(path, "rb") as stream:
        stream.seek(start)
        left = path.stat().st_size - start if stop is None else stop - start
        blocks = iter(lambda: stream.read(min(2**20, left)), b"")
        total = 0
        for block in blocks:
            total += block.count(b"\n")
            left -= len(block)
        return total


def score_parts(
    path: Path,
    parts: Sequence[tuple[int, int]],
    header: RunHeader,
    scorer: Scorer,
    watch: Watch | None = None,
) -> list[Shard]:
    """Judge parts of a log, as many at a time as there are processors: one here, the others in programs.

    Raises
    ------
    LogError
        When one of them was ended from outside, for want of memory for example.
    """
    todo, done = deque(enumerate(parts)), dict[int, Shard]()
    command, environment = program("toolbench.numbers.shard_process")

    def elsewhere() -> None:
        while (one := _next(todo)) is not None:
            number, (start, stop) = one
            asked = [*command, str(path), str(start), str(stop)]
            told = subprocess.run(asked, stdout=subprocess.PIPE, env=environment)
            if told.returncode:
                todo.clear()
                raise LogError(
                    f"{path}: the process that judged bytes {start} to {stop} ended with {told.returncode}"
                )
            done[number] = pickle.loads(told.stdout)

    total = count_lines(path, parts[0][0], parts[-1][1]) if watch else 0
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1)) as pool:
        others = [pool.submit(elsewhere) for _ in range(min(len(parts), os.cpu_count() or 1) - 1)]
        try:
            while (one := _next(todo)) is not None:
                before = sum(shard.lines for shard in list(done.values()))
                told = partial(_also, watch, before, total) if watch else None
                done[one[0]] = score_part(path, *one[1], header, scorer, told)
        finally:
            todo.clear()
        for other in others:
            other.result()
    if watch:
        watch(total, total)
    return [done[number] for number in range(len(parts))]


_Todo = deque[tuple[int, tuple[int, int]]]


def _next(todo: _Todo) -> tuple[int, tuple[int, int]] | None:
    try:
        return todo.popleft()
    except IndexError:
        return None


def _also(watch: Watch, before: int, total: int, line: int, lines: int) -> None:
    watch(before + line, total)


def score_parts_on(
    scheduler: str,
    path: Path,
    header: RunHeader,
    parts: Sequence[tuple[int, int]],
    watch: Watch | None = None,
) -> list[Shard]:
    """Judge parts of a log on the workers of a scheduler, which need not have the file.

    Raises
    ------
    ClusterError
        When the scheduler or its workers are away or cannot be used.
    """
    from toolbench.cluster.mapping import in_order

    total = count_lines(path, parts[0][0], parts[-1][1]) if watch and parts else 0
    lines = 0

    def done(shard: Shard) -> None:
        nonlocal lines
        lines += shard.lines
        if watch:
            watch(lines, total)

    return in_order(scheduler, partial(_score_lines, str(path), header), _stretches(path, parts), done)


def _stretches(path: Path, parts: Sequence[tuple[int, int]]) -> Iterator[bytes]:
    with open(path, "rb") as stream:
        for start, stop in parts:
            stream.seek(start)
            yield stream.read(stop - start)


def _score_lines(name: str, header: RunHeader, lines: bytes) -> Shard:
    """Judge lines of a log that is elsewhere and called ``name``."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "lines.jsonl"
        copy.write_bytes(lines)
        shard = score_part(copy, 0, None, header, Scorer.of(header))
    return replace(shard, problems=[replace(problem, file=name) for problem in shard.problems])
