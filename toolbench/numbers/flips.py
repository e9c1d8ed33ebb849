"""What a player decided on each case, and how often that changes from one arm to another.

A *decision* is the kind of each reply and the tools called in it, arguments left out. With several
repetitions a case's decision is the most frequent one (of equally frequent ones the earliest).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from toolbench.numbers.intervals import share_intervals
from toolbench.numbers.paired import DRAWS, Pairs, difference_interval

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


def changes(left: pd.DataFrame, *others: pd.DataFrame) -> dict[str, Any]:
    """Return how often the decision on a case changes between arms of one player.

    Parameters
    ----------
    left, others
        Frames made by :func:`decided`, each of one player, suite, language and condition. With several
        others a case counts as changed when one of them changes it.

    Returns
    -------
    dict
        ``cases`` (scored in every arm), ``changed`` (of them with another decision), ``rate``, ``ci_low``,
        ``ci_high`` (Wilson), ``arguments`` (cases with the same decision and other arguments), and
        ``chance``: mean probability that two repetitions on the left differ, the rate that nothing but
        chance gives; missing with one repetition.
    """
    common = set(left["case_id"]).intersection(*(other["case_id"] for other in others))
    arms = [arm[arm["case_id"].isin(common)] for arm in (left, *others)]
    moved = changed_cases(arms[0], *arms[1:])
    differing = changed_cases(arms[0], *arms[1:], column="behaviour")
    rate = np.array([[float(case in moved)] for case in sorted(common)]).reshape(-1, 1)
    low, high = share_intervals(rate, np.ones_like(rate))
    chances = [value for _, case in arms[0].groupby("case_id") for value in _disagreement(case["decision"])]
    return {
        "cases": len(common),
        "changed": len(moved),
        "rate": len(moved) / len(common) if common else np.nan,
        "ci_low": float(low[0]),
        "ci_high": float(high[0]),
        "arguments": len(differing - moved),
        "chance": float(np.mean(chances)) if chances else np.nan,
    }


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


def _disagreement(values: pd.Series[Any]) -> Iterator[float]:
    """Yield the probability that two different repetitions of a case differ, if it has two."""
    counts = values.value_counts().to_numpy(dtype=float)
    total = counts.sum()
    if total > 1:
        yield float(1 - (counts * (counts - 1)).sum() / (total * (total - 1)))


def preference(made: pd.DataFrame, seed: int) -> dict[str, Any]:
    """Return how often the first tool on offer was chosen, against a choice that ignores the order.

    Parameters
    ----------
    made
        One row a first call, with ``case_id``, ``tool`` (the chosen one) and ``first`` (the first listed).
    seed
        Of the orders shuffled inside each case.

    Returns
    -------
    dict
        ``calls``, ``first``, ``expected`` (attempts), ``excess`` (share beyond the expected one), ``ci_low``,
        ``ci_high``, ``p`` (two-sided, the observed order counted in).
    """
    draw = np.random.default_rng(seed)
    hits, expected, sizes = [], [], []
    shuffled = np.zeros(DRAWS)
    for _, case in made.groupby("case_id", sort=True):
        chosen, first = case["tool"].to_numpy(dtype=str), case["first"].to_numpy(dtype=str)
        hits.append(float((chosen == first).sum()))
        expected.append(float((chosen[:, None] == first[None, :]).mean(axis=1).sum()))
        sizes.append(float(len(case)))
        shuffled += (draw.permuted(np.tile(first, (DRAWS, 1)), axis=1) == chosen).sum(axis=1)
    total = sum(sizes)
    if not total:
        missing = dict.fromkeys(["expected", "excess", "ci_low", "ci_high", "p"], np.nan)
        return {"calls": 0, "first": 0, **missing}
    size = np.array(sizes)
    low, high = difference_interval(Pairs(np.array(expected), size, np.array(hits), size))
    distance = abs(sum(hits) - sum(expected))
    extreme = int((np.abs(shuffled - sum(expected)) >= distance - 1e-9).sum())
    return {
        "calls": int(total),
        "first": int(sum(hits)),
        "expected": sum(expected),
        "excess": (sum(hits) - sum(expected)) / total,
        "ci_low": low,
        "ci_high": high,
        "p": (extreme + 1) / (DRAWS + 1),
    }
