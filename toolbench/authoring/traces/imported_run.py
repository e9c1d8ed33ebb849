"""Files of saved conversations → a run that was imported: its header says so, nothing in it was played."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from secrets import token_hex

from toolbench.authoring.traces.detecting import saved_in
from toolbench.authoring.traces.placing import Placed, Placing, Shelf
from toolbench.authoring.traces.saved import Saved
from toolbench.domain.canonical import JSON
from toolbench.domain.condition import BUILT_IN_CONDITIONS
from toolbench.domain.config import Config
from toolbench.domain.environment import code_commit, now, versions
from toolbench.domain.log_writer import LogWriter
from toolbench.domain.record import Attempt, RunHeader
from toolbench.domain.suite import Suite
from toolbench.errors import LogError, SuiteError

CONDITION = "auto"


@dataclass(frozen=True)
class Wishes:
    """What a person settles about an import.

    Attributes
    ----------
    suite
        A suite whose contract, rules and cases judge, instead of the tools in the files.
    tools
        Entries of ``tools.json`` for conversations that do not tell what was on offer.
    cases
        Lines of case files; the one with a conversation's key judges it.
    key
        Where the key is, instead of the usual places.
    lang
        Language of all conversations, instead of by their letters.
    effects
        ``TOOL=read`` or ``TOOL=write``, instead of a guess.
    """

    suite: Suite | None = None
    tools: Sequence[JSON] | None = None
    cases: Callable[[Sequence[str]], Sequence[JSON]] | None = None
    key: str | None = None
    lang: str | None = None
    effects: Sequence[str] = ()


@dataclass(frozen=True)
class Imported:
    """What came of an import: the run's folder, numbers, and what was left out, changed or guessed."""

    folder: Path
    conversations: int
    joined: int
    suites: Sequence[str]
    remarks: Sequence[str]
    guesses: Sequence[str] = field(default_factory=tuple)


def import_traces(files: Sequence[Path], folder: Path, wishes: Wishes = Wishes()) -> Imported:
    """Write a run of saved conversations.

    Parameters
    ----------
    folder
        The run's; it must not be there yet, and is not made before everything has been read.

    Raises
    ------
    InputError
        When a file cannot be read or holds no conversation, none tells which tools were on offer, a case
        names a tool that is not there, or the folder is there already.
    """
    if folder.exists():
        raise LogError(f"{folder}: is there already, nothing was written; choose another --output")
    sources: list[JSON] = []
    found: list[Saved] = []
    remarks: list[str] = []
    for file in files:
        talks, told = saved_in(file, wishes.key)
        sources.append(
            {
                "file": file.name,
                "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
                "conversations": len(talks),
            }
        )
        found += talks
        remarks += told
    placing = Placing(wishes.suite, wishes.tools, wishes.lang, wishes.effects)
    for saved in found:
        placing.add(saved)
    shelves = placing.shelves
    if not shelves:
        raise SuiteError(f"{files[0]}: {placing.remarks[0]}")
    if wishes.cases is not None:
        placing.expect(wishes.cases(sorted({tool for shelf in shelves for tool in shelf.names})))
    placed = placing.placed()
    if not placed:
        raise SuiteError(f"{files[0]}: {placing.remarks[0]}")
    header = _header(folder.name, shelves, placed, sources)
    _write(folder, header, placed)
    return Imported(
        folder,
        len(placed),
        sum(one.joined for one in placed),
        [shelf.suite.name for shelf in shelves],
        [*remarks, *placing.remarks],
        placing.guesses,
    )


def _header(
    run_id: str, shelves: Iterable[Shelf], placed: Sequence[Placed], sources: Sequence[JSON]
) -> RunHeader:
    made = Counter((*one.player, one.suite, one.lang, CONDITION, one.case_id) for one in placed)
    players = dict.fromkeys(one.player for one in placed)
    suites = [shelf.finished() for shelf in shelves]
    config = Config(
        runs=(), baselines=(), suites=tuple(suite.name for suite in suites), repetitions=max(made.values())
    )
    return RunHeader(
        run_id=run_id,
        started_at=now(),
        config=config.snapshot(),
        conditions=[asdict(BUILT_IN_CONDITIONS[CONDITION])],
        players=[{**player._asdict(), "price": None} for player in players],
        suites=[suite.snapshot() for suite in suites],
        hashes={
            "config": config.hash,
            "suites": {suite.name: dict(suite.hashes) for suite in suites},
            "gates": None,
        },
        versions=versions(),
        git_commit=code_commit(),
        labels={"imported": ", ".join(f"{one['conversations']} of {one['file']}" for one in sources)},
        imported={"sources": list(sources), "made": [[*names, times] for names, times in made.items()]},
    ).sealed()


def _write(folder: Path, header: RunHeader, placed: Sequence[Placed]) -> None:
    """Write the whole run beside its place and move it there, so that no half of one is ever found."""
    draft = folder.with_name(f".{folder.name}.{token_hex(4)}")
    shared = {"header": str(header.seal)}
    hashes: dict[str, Mapping[str, str]] = {}
    for suite in header.load_suites().values():
        parts = {part: suite.hashes[part] for part in ("contract", "executor", "rules")}
        for case in suite.cases:
            hashes[f"{suite.name}/{case.lang}/{case.id}"] = {**parts, "case": case.hash, **shared}
    seen: Counter[object] = Counter()
    try:
        draft.mkdir(parents=True)
        with LogWriter(draft, str) as log:
            log.append(header)
            waiting = []
            for one in placed:
                key = (*one.player, one.suite, one.lang, one.case_id)
                attempt = _attempt(
                    one, header.run_id, hashes[f"{one.suite}/{one.lang}/{one.case_id}"], seen[key]
                )
                seen[key] += 1
                waiting.append(log.submit(attempt))
            for done in waiting:
                done.result()
        draft.rename(folder)
    except OSError as fault:
        raise LogError(f"{folder}: cannot be written ({fault.strerror or fault})") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _attempt(one: Placed, run_id: str, hashes: Mapping[str, str], repetition: int) -> Attempt:
    made = one.made
    took = [turn.latency_ms for turn in made.turns]
    return Attempt(
        run_id=run_id,
        **one.player._asdict(),
        suite=one.suite,
        lang=one.lang,
        condition=CONDITION,
        case_id=one.case_id,
        repetition=repetition,
        hashes=hashes,
        status="ok" if made.error is None else "transport_error",
        stop=made.stop,
        turns=made.turns,
        calls=made.calls,
        started_at=made.turns[0].started_at if made.turns else "",
        seconds=round(sum(time or 0.0 for time in took) / 1000, 3),
        error=made.error,
    )
