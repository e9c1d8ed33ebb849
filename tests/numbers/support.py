"""Small frames by hand, and logs of models that never ran: a baseline's attempts under another name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from toolbench.numbers.frames import PLANNED, ScoredRun
from toolbench.numbers.rows import AMOUNTS, ATTEMPT, COUNTS, DTYPES, FACTS, FLAGS, TUPLES

GROUP = {
    "provider": "acme",
    "model": "m",
    "protocol": "chat_completions",
    "suite": "s",
    "lang": "en",
    "condition": "auto",
}
PRICE = {"currency": "USD", "date": "2026-11-30", "input": 1.0, "cached_input": 0.1, "output": 4.0}


def row(case_id: str = "c", passed: bool | None = True, **columns: Any) -> dict[str, Any]:
    """Return one attempt: a call was due, was made and was right (or not); ``None`` means not scored."""
    scored = passed is not None
    counts: dict[str, Any] = dict.fromkeys(COUNTS, 0.0 if scored else None)
    if scored:
        counts |= dict.fromkeys(["decisions", "call_required", "calls", "completable", "write_offered"], 1.0)
        counts |= dict.fromkeys(["passed", "decision_right", "selection_right", "completed"], float(passed))
        counts |= {"calls_raw_valid": 1.0, "calls_right": float(passed), "calls_wrong": 1.0 - passed}
        counts |= {"calls_missing": 1.0 - passed, "calls_selected": float(passed)}
        counts |= {"calls_made": 1.0, "calls_due": 1.0}
    return {
        **GROUP,
        "case_id": case_id,
        "scenario": case_id,
        "case_class": "k",
        "case_hash": "0",
        "repetition": 0,
        "scored": scored,
        "status": "ok" if scored else "transport_error",
        "stop": "answered" if scored else "overloaded",
        "behaviour": "same" if passed else "other",
        **dict.fromkeys(TUPLES, ()),
        **dict.fromkeys(FACTS, False),
        "decision_due": True,
        "call_due": True,
        "chain_due": True,
        "write_on_offer": True,
        **dict.fromkeys(AMOUNTS, 0.0),
        **dict.fromkeys(FLAGS, None),
        **counts,
        **columns,
    }


def frame(*rows: Mapping[str, Any]) -> pd.DataFrame:
    """Return an attempts frame with the column types of a loaded one."""
    return pd.DataFrame(list(rows), columns=ATTEMPT).astype({name: DTYPES[name] for name in ATTEMPT})


def planned(*rows: Mapping[str, Any]) -> pd.DataFrame:
    """Return the plan of exactly these attempts."""
    return frame(*rows)[PLANNED]


def value(figures: pd.DataFrame, metric: str, column: str = "value", **where: str) -> Any:
    """Return one number of a metrics frame."""
    found = figures[figures["metric"] == metric]
    for name, wanted in where.items():
        found = found[found[name] == wanted]
    assert len(found) == 1, f"{len(found)} rows of {metric} {where}"
    return found[column].iloc[0]


def twice(scored: ScoredRun) -> ScoredRun:
    """Return a run that has every scenario twice: nine of them would have no interval."""

    def doubled(frame: pd.DataFrame) -> pd.DataFrame:
        copies = frame.assign(**{name: frame[name] + "-again" for name in ("case_id", "scenario")})
        return pd.concat([frame, copies], ignore_index=True)

    return replace(scored, attempts=doubled(scored.attempts), planned=doubled(scored.planned))


def renamed(
    source: Path,
    target: Path,
    models: Mapping[str, str],
    price: Mapping[str, Any] | None = None,
    change: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda attempt: attempt,
    header: Callable[[dict[str, Any]], dict[str, Any]] = lambda header: header,
) -> Path:
    """Write a run in which baselines also appear as models of the provider ``acme``.

    Parameters
    ----------
    models
        Baseline → the model its attempts become; every reply then reports 1000 input tokens (400 of them
        cached) and 100 output tokens (30 of them reasoning).
    change
        Applied to each such attempt; ``None`` drops it.
    """
    lines = (source / "attempts.jsonl").read_text().splitlines()
    first = {**json.loads(lines[0]), "seal": None}
    written = [_header(first, target.name, models, price)]
    for attempt in map(json.loads, lines[1:]):
        written.append({**attempt, "run_id": target.name})
        if attempt["model"] in models:
            made = change(_as_model({**attempt, "run_id": target.name}, models[attempt["model"]]))
            written += [made] if made is not None else []
    target.mkdir(parents=True)
    written[0] = header(written[0])
    text = "".join(json.dumps(record) + "\n" for record in written)
    (target / "attempts.jsonl").write_text(text)
    return target


def failed(attempt: dict[str, Any], status: str = "transport_error") -> dict[str, Any]:
    """Turn a record into one that ended before its first reply."""
    error = {"code": "overloaded", "message": "HTTP 503: try later", "status": 503}
    return {**attempt, "status": status, "stop": "overloaded", "turns": [], "calls": [], "error": error}


def _header(first: dict[str, Any], run_id: str, models: Mapping[str, str], price: Any) -> dict[str, Any]:
    entry = {"provider": "acme", "protocol": "chat_completions"}
    settings = {"settings": {"temperature": 0.0}, "extra_body": {}}
    players = [{**entry, "model": model, "price": price} for model in models.values()]
    runs = [{**entry, **settings, "model": model} for model in models.values()]
    return {
        **first,
        "run_id": run_id,
        "players": [*first["players"], *players],
        "config": {**first["config"], "runs": runs},
    }


def _as_model(attempt: dict[str, Any], model: str) -> dict[str, Any]:
    usage = {"input": 1000, "output": 100, "cached_input": 400, "reasoning": 30}
    turns = [
        {**turn, "latency_ms": 200.0, "decision": {**turn["decision"], "usage": usage}}
        for turn in attempt["turns"]
    ]
    return {**attempt, "provider": "acme", "model": model, "turns": turns}
