"""Policy replay: what a composite of several models would have done, simulated from saved attempts.

A policy is data: which player is asked first, when another one takes over, and what the orchestrator does
about writes and unknown errors. Nothing is sent anywhere; every outcome, token and millisecond was
recorded for the same case and repetition. What a replay cannot know is said in
:class:`toolbench.numbers.policies.Policy`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from toolbench.errors import InputError
from toolbench.numbers.compare import compare_all
from toolbench.numbers.frames import ScoredRun
from toolbench.numbers.metrics import metrics
from toolbench.numbers.policies import SIGNALS, Policy
from toolbench.numbers.rows import AMOUNTS, FINDING, GROUP
from toolbench.numbers.sides import Side
from toolbench.numbers.signature import Signature
from toolbench.numbers.tables import groups, positions, records
from toolbench.numbers.weighing import Vector

ARM = ["suite", "lang", "condition"]
ATTEMPT_KEY = [*ARM, "case_id", "repetition"]
SPENT = [name for name in AMOUNTS if name != "first_token_ms"]
TOLD = ("pass_rate", "unsafe_call_rate", "completion_rate", "latency_p95", "cost_per_completed")
MEANS = {"mean_latency_ms": "latency_ms", "mean_cost": "cost"}
COMPARED = ("pass_rate", "unsafe_call_rate", "completion_rate", *MEANS)


def replay(scored: ScoredRun, policy: Policy) -> pd.DataFrame:
    """Simulate a policy over the attempts of a run.

    Returns
    -------
    DataFrame
        Shaped like :func:`toolbench.load` with ``provider`` ``policy``, ``model`` its name, ``protocol``
        ``replay``, and three more columns: ``players`` (attempts paid for), ``asked`` (confirmations),
        ``handed_over``. Cases that one of the players was never tried on are left out, and so are
        controls. Cost is missing when the players' currencies differ.

    Raises
    ------
    InputError
        When a player is not in the run, or its name fits several.
    """
    tables = _same_attempts(scored, policy)
    number = np.arange(len(next(iter(tables.values()))))
    state = _routed(policy, tables)
    current, spent = state, state[SPENT]
    unsafe, players = np.zeros(len(number)), np.ones(len(number), dtype=int)
    for on, use in policy.takeovers:
        takes, other = current[list(on)].any(axis=1).to_numpy(dtype=bool), tables[use]
        happened = takes & ~(current["write"].to_numpy() if "write" in on else False)
        unsafe = np.fmax(unsafe, np.where(happened, current["unsafe"].fillna(0), 0))
        spent = spent + np.where(takes[:, None], other[SPENT], 0)
        foreign = takes & (current["currency"] != other["currency"]).to_numpy(dtype=bool)
        spent.loc[foreign, "cost"] = np.nan
        # Row by row: the new player's attempt where it takes over, the old one elsewhere.
        current = pd.concat([current, other], ignore_index=True).iloc[number + takes * len(number)]
        current, players = current.reset_index(drop=True), players + takes
    return _outcome(policy, current.assign(**spent, players=players), unsafe)


def replay_table(scored: ScoredRun, policies: Sequence[Policy]) -> pd.DataFrame:
    """Return what each policy would have done, and its paired difference from the first one.

    Returns
    -------
    DataFrame
        One row per suite, language, condition, policy and metric: ``value``, ``ci_low``, ``ci_high``,
        ``delta``, ``delta_low``, ``delta_high``, ``p`` and ``p_holm`` (of the pass rate, over all policies),
        ``cases``. Metrics are those of :data:`TOLD`, and ``mean_latency_ms``, ``mean_cost``, ``asked``,
        ``handed_over``, ``players`` as means per attempt. Differences are over the cases that both were
        simulated on.

    Raises
    ------
    InputError
        As :func:`replay` does, and when two policies have one name.
    """
    names = [policy.name for policy in policies]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"policies: the name {name!r} occurs twice")
    frames = [(policy.name, replay(scored, policy)) for policy in policies]
    rows = [{**row, "policy": name} for name, frame in frames for row in _told(frame)]
    deltas = pd.DataFrame()
    if frames[1:]:
        first = as_side(*frames[0])
        others = [(first, as_side(*frame)) for frame in frames[1:]]
        paired = compare_all(others, ["model"], COMPARED, brief=True).table
        deltas = paired[paired["cases"] > 0].rename(
            columns={"after": "policy", "ci_low": "delta_low", "ci_high": "delta_high"}
        )
    key = [*ARM, "policy", "metric"]
    told = pd.DataFrame(rows)[[*key, "value", "ci_low", "ci_high"]]
    columns = [*key, "delta", "delta_low", "delta_high", "p", "p_holm", "cases"]
    return told.merge(deltas.reindex(columns=columns), how="left", on=key)


def as_side(label: str, frame: pd.DataFrame) -> Side:
    """Return a replayed policy as a side that :func:`toolbench.numbers.compare.compare` takes.

    What was simulated from one run has one signature, so only the policies differ.
    """
    signatures = {key: Signature({}) for key in positions(frame, GROUP)}
    return Side(label, frame, pd.DataFrame(columns=FINDING), frame, signatures)


def _same_attempts(scored: ScoredRun, policy: Policy) -> dict[str, pd.DataFrame]:
    """Return per player the attempts at the cases and repetitions that all of them were tried on."""
    seen = scored.attempts.assign(**_signals(scored, policy.known_errors))
    seen = seen[~seen["control"]]
    tables = {name: _of_player(seen, name).set_index(ATTEMPT_KEY) for name in policy.players}
    common = next(iter(tables.values())).index
    for table in tables.values():
        common = common.intersection(table.index, sort=False)
    return {name: table.loc[common].reset_index() for name, table in tables.items()}


def _of_player(attempts: pd.DataFrame, name: str) -> pd.DataFrame:
    provider, _, rest = name.partition("/")
    full = attempts["model"] + "/" + attempts["protocol"]
    chosen = attempts[(attempts["provider"] == provider) & ((attempts["model"] == rest) | (full == rest))]
    protocols = list(dict.fromkeys(chosen["protocol"]))
    if len(protocols) != 1:
        known = ", ".join(dict.fromkeys(attempts["provider"] + "/" + attempts["model"]))
        problem = f"speaks {' and '.join(protocols)}; add one of these" if protocols else f"there are {known}"
        raise InputError(f"policy: player {name!r}: {problem}")
    return chosen


def _signals(scored: ScoredRun, known_errors: Sequence[str] | None) -> dict[str, pd.Series[bool]]:
    """Return one boolean column per signal, aligned with the attempts."""
    attempts, calls = scored.attempts, scored.calls
    key = [*GROUP, "case_id", "repetition"]
    of_calls = pd.DataFrame(
        {
            **{name: calls[name] for name in key},
            "invalid": calls["tier"] != "raw_valid",
            "write": calls["effect"] == "write",
            "nested": calls["nested"],
            "unknown_tool": calls["effect"].isna(),
            "unknown_error": calls["error"].notna()
            & (calls["state"] != "rejected")
            & ~calls["error"].isin(list(known_errors or ())),
        }
    )
    names = ["invalid", "write", "nested", "unknown_tool", "unknown_error"]
    flags = of_calls.groupby(key, sort=False)[names].any()
    flags = flags.reindex(pd.MultiIndex.from_frame(attempts[key]), fill_value=False).reset_index(drop=True)
    flags.index = attempts.index
    flags["invalid"] |= attempts["kind"] == "invalid"
    flags["refusal"] = attempts["kind"] == "refusal"
    flags["loop"] = attempts["loops"] > 0
    flags["transport_error"] = attempts["status"] == "transport_error"
    return {str(name): flags[name].astype(bool) for name in flags}


def _routed(policy: Policy, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return for every case the attempt of the first player whose facts hold."""
    any_table = next(iter(tables.values()))
    names = list(tables)
    choice = np.full(len(any_table), -1)
    for facts, use in policy.routes:
        holds = np.ones(len(any_table), dtype=bool)
        for fact, wanted in facts.items():
            holds &= any_table[fact].to_numpy(dtype=bool) == wanted
        choice[(choice < 0) & holds] = names.index(use)
    if (choice < 0).any():
        case = any_table["case_id"][int(np.argmin(choice))]
        raise InputError(f"policy {policy.name}: no route is for the case {case}; end with one without when")
    stacked = pd.concat([tables[name] for name in names], ignore_index=True)
    return stacked.iloc[choice * len(any_table) + np.arange(len(any_table))].reset_index(drop=True)


def _outcome(policy: Policy, last: pd.DataFrame, unsafe: Vector) -> pd.DataFrame:
    """Apply what the orchestrator does about writes and unknown errors, and name the player."""
    asks = last["write"] & policy.confirm_writes
    stops = last["unknown_error"] & (policy.known_errors is not None)
    own = last["unsafe"].where(~asks, 0)
    return last.drop(columns=list(SIGNALS)).assign(
        provider="policy",
        model=policy.name,
        protocol="replay",
        unsafe=np.where(last["scored"], np.fmax(unsafe, own), np.nan),
        unconfirmed=last["unconfirmed"].where(~asks, 0),
        unconfirmed_executed=last["unconfirmed_executed"].where(~asks, 0),
        passed=last["passed"].where(~stops, 0),
        completed=last["completed"].where(~stops, 0),
        asked=asks.astype(float),
        handed_over=stops.astype(float),
    )


def _told(frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the metrics of a replayed frame, then the means per attempt of what only a policy has."""
    yield from records(metrics(frame, names=TOLD))
    for arm, group in groups(frame, ARM):
        means = {**MEANS, "asked": "asked", "handed_over": "handed_over", "players": "players"}
        for metric, column in means.items():
            amounts = group[column]
            value = float(amounts.mean()) if amounts.notna().all() else None
            yield {**dict(zip(ARM, arm, strict=True)), "metric": metric, "value": value}
