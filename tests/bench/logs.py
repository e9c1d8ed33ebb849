"""Logs of any length for the benches: the perfect player's attempts, repeated as a run would make them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tests.support import ROOT
from toolbench.domain.config import Config
from toolbench.domain.record import RunHeader
from toolbench.domain.suite import find_suite
from toolbench.running.header import make_header
from toolbench.selfcheck.oracle import perform
from toolbench.selfcheck.rehearse import rehearse

MARK = "Qqqqqqq"
"""A word at the end of every answer, another one in every other repetition: samples of a model differ."""


def make_log(folder: Path, attempts: int, suite: str = "delivery") -> Path:
    """Write a run of at least so many attempts, and return its folder."""
    lines = list(_lines(suite))
    repetitions = -(-attempts // len(lines))
    header = _header(suite, repetitions, folder.name)
    folder.mkdir(parents=True)
    with open(folder / "attempts.jsonl", "w", encoding="utf-8") as stream:
        stream.write(json.dumps(header.to_json(), ensure_ascii=False) + "\n")
        run = f'"run_id": {json.dumps(header.run_id)}'
        ready = [line.replace('"run_id": "rehearsal"', run, 1) for line in lines]
        sealed = [line.replace('"header": ""', f'"header": "{header.seal}"', 1) for line in ready]
        for repetition in range(repetitions):
            stream.writelines(_repeated(line, repetition) for line in sealed)
    return folder


def _repeated(line: str, repetition: int) -> str:
    word = "Q" + "".join(chr(ord("a") + (repetition // 2) // 26**place % 26) for place in range(6))
    return line.replace('"repetition": 0', f'"repetition": {repetition}', 1).replace(MARK, word) + "\n"


def _header(suite: str, repetitions: int, run_id: str) -> RunHeader:
    model = {"provider": "rehearsal", "model": "script", "protocol": "chat_completions"}
    config = Config.from_json(
        {
            "runs": [{**model, "base_url": "http://127.0.0.1"}],
            "conditions": ["auto"],
            "baselines": [],
            "repetitions": repetitions,
        },
        "inline",
        ROOT,
    )
    return make_header(config, [find_suite(ROOT, suite)], run_id)


def _lines(name: str) -> Iterator[str]:
    suite = find_suite(ROOT, name)
    header = _header(name, 1, "rehearsal")
    condition = header.load_conditions()["auto"]
    for planned in header.plan():
        case = suite.case_by_key[planned.lang, planned.case_id]
        *moves, last = perform(suite, case, condition).script
        script = [*moves, replace(last, text=f"{last.text} {MARK}") if last.text else last]
        attempt = rehearse(suite, case, script, condition)
        hashes = {**attempt.hashes, "header": ""}
        yield json.dumps(replace(attempt, hashes=hashes).to_json(), ensure_ascii=False)
