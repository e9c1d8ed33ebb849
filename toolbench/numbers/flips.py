"""What a player decided on each case, and whether that changes from one arm to another more than by itself.

A *decision* is the kind of each reply and the tools called in it, arguments left out. A player that is asked
twice may decide twice: how often two attempts of different arms disagree is therefore held against how often
two repetitions of one arm do. Where the arm changes nothing, both are equal on average, whatever the player.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from toolbench.numbers.paired import Pairs, detectable, difference_interval, p_value

SILENT = "nothing"


def decision(behaviour: str) -> str:
    """Return an attempt's decisions in short: ``get_order``, ``text``, ``get_order → clarification``."""
    parts = []
    for kind, calls in json.loads(behaviour):
        parts.append("+".join(name for name, _ in calls) or str(kind))
    return " → ".join(parts) or SILENT


def decided(attempts: pd.DataFrame) -> pd.DataFrame:
    """Return the scored attempts with a ``decision`` column."""
    scored = attempts[attempts["scored"].astype(bool)]
    return scored.assign(decision=[decision(str(text)) for text in scored["behaviour"]])


def modal(values: pd.Series[Any]) -> str:
    """Return the most frequent value, of equally frequent ones the earliest."""
    return str(values.value_counts(sort=False).idxmax())


def disagreement(column: str, left: pd.DataFrame, *others: pd.DataFrame) -> pd.DataFrame:
    """Return how likely two attempts at a case differ in a column: inside an arm, and from arm to arm.

    Returns
    -------
    DataFrame
        Indexed by ``case_id``, the cases of every arm: ``within`` (two different repetitions of one arm, mean
        over the arms that have them; missing where none has) and ``between`` (one attempt of the left arm and
        one of another, mean over the others).
    """
    arms = [_shares(arm, column) for arm in (left, *others)]
    common = arms[0][1].index
    for _, sizes in arms[1:]:
        common = common.intersection(sizes.index)
    within, between = [], []
    for shares, sizes in arms:
        size = sizes[common].astype(float)
        same = (shares**2).groupby("case_id").sum()[common]
        # Of n repetitions n² - n ordered pairs are two different ones.
        within.append((1 - same) * size / (size - 1).where(size > 1))
    for shares, _ in arms[1:]:
        same = arms[0][0].mul(shares, fill_value=0).groupby("case_id").sum()[common]
        between.append(1 - same)
    return pd.DataFrame({"within": _mean(within, common), "between": _mean(between, common)})


def _shares(arm: pd.DataFrame, column: str) -> tuple[pd.Series[float], pd.Series[int]]:
    """Return the share of each value in each case, and the number of attempts at each case."""
    sizes = arm.groupby("case_id", sort=True).size()
    counts = arm.groupby(["case_id", column], sort=True).size()
    return counts / sizes.reindex(counts.index.get_level_values("case_id")).to_numpy(), sizes


def _mean(parts: list[pd.Series[float]], index: pd.Index) -> pd.Series[float]:
    return pd.DataFrame(parts, columns=index).mean() if parts else pd.Series(np.nan, index=index)


def excess(cases: pd.DataFrame) -> dict[str, Any]:
    """Return whether arms disagree more than repetitions do.

    Parameters
    ----------
    cases
        One row a case, with ``scenario``, ``within`` and ``between``.

    Returns
    -------
    dict
        ``rate`` and ``chance`` (means of ``between`` and ``within``), ``excess`` (their difference) with
        ``ci_low``, ``ci_high``, ``p`` and ``detectable`` (the smallest excess that shows with 80 % power);
        ``cases`` and ``clusters`` behind it. Where no case was repeated there is only the ``rate``.
    """
    repeated = cases[cases["within"].notna()]
    values = repeated[["within", "between"]].to_numpy(dtype=float)
    pairs = Pairs(values[:, 0], values[:, 1], repeated["scenario"].to_numpy(dtype=str))
    rate = float(cases["between"].mean()) if len(cases) else np.nan
    found = {"cases": len(cases), "clusters": cases["scenario"].nunique(), "rate": rate}
    if not len(pairs):
        return {
            **found,
            **dict.fromkeys(["chance", "excess", "ci_low", "ci_high", "p", "detectable"], np.nan),
        }
    low, high = difference_interval(pairs)
    return {
        **found,
        "chance": float(pairs.left.mean()),
        "excess": pairs.delta,
        "ci_low": low,
        "ci_high": high,
        "p": p_value(pairs),
        "detectable": detectable(pairs),
    }


def changes(left: pd.DataFrame, *others: pd.DataFrame) -> dict[str, Any]:
    """Return how often the decision on a case changes between arms of one player.

    Parameters
    ----------
    left, others
        Frames made by :func:`decided`, each of one player, suite, language and condition. With several
        others each of them is held against the left one.

    Returns
    -------
    dict
        What :func:`excess` returns, ``changed`` (cases whose usual decision is another one in one of the
        others) and ``arguments`` (cases with the same usual decision and other arguments).
    """
    common = set(left["case_id"]).intersection(*(other["case_id"] for other in others))
    arms = [arm[arm["case_id"].isin(common)] for arm in (left, *others)]
    moved = changed_cases(arms[0], *arms[1:])
    differing = changed_cases(arms[0], *arms[1:], column="behaviour")
    scenarios = arms[0].groupby("case_id", sort=True)["scenario"].first()
    cases = disagreement("decision", *arms).assign(scenario=scenarios)
    return {**excess(cases), "changed": len(moved), "arguments": len(differing - moved)}


def changed_cases(left: pd.DataFrame, *others: pd.DataFrame, column: str = "decision") -> set[str]:
    """Return the cases of the left arm that one of the others decides differently."""
    usual = modes(left, column)
    found = [modes(other, column).reindex(usual.index) for other in others]
    return {str(case) for arm in found for case in usual.index[(arm != usual) & arm.notna()]}


def modes(attempts: pd.DataFrame, column: str = "decision") -> pd.Series[str]:
    """Return case → its most frequent value of a column."""
    return pd.Series(
        {str(case): modal(rows[column]) for case, rows in attempts.groupby("case_id")}, dtype=str
    )


def preference(made: pd.DataFrame) -> dict[str, Any]:
    """Return how often the first tool on offer was chosen, against a choice that ignores the order.

    Parameters
    ----------
    made
        One row a first call, with ``case_id``, ``scenario``, ``tool`` (the chosen one) and ``first`` (the
        first listed).

    Returns
    -------
    dict
        ``calls``, ``first``, ``expected`` (attempts), ``cases``, ``clusters``, ``excess`` (mean over cases of
        the share beyond the expected one), ``ci_low``, ``ci_high``, ``p``.
    """
    hits, expected, sizes, scenarios = [], [], [], []
    for _, case in made.groupby("case_id", sort=True):
        chosen, first = case["tool"].to_numpy(dtype=str), case["first"].to_numpy(dtype=str)
        hits.append(float((chosen == first).sum()))
        expected.append(float((chosen[:, None] == first[None, :]).mean(axis=1).sum()))
        sizes.append(float(len(case)))
        scenarios.append(str(case["scenario"].iloc[0]))
    size = np.array(sizes)
    pairs = Pairs(np.array(expected) / size, np.array(hits) / size, np.array(scenarios, dtype=str))
    low, high = difference_interval(pairs)
    return {
        "calls": int(sum(sizes)),
        "first": int(sum(hits)),
        "expected": sum(expected),
        "cases": len(pairs),
        "clusters": len(set(scenarios)),
        "excess": pairs.delta if sizes else np.nan,
        "ci_low": low,
        "ci_high": high,
        "p": p_value(pairs),
    }
