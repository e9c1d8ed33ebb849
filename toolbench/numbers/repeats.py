"""What repetitions of one case say: consistency, distinct decisions, ``pass^k`` and ``pass@k``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import comb
from typing import Any

import numpy as np
import pandas as pd

from toolbench.numbers.intervals import Vector, mean_interval, share_intervals
from toolbench.numbers.tables import Key, figure, positions


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Unbiased estimate that all of k tries pass, from c passes in n: C(c, k) / C(n, k).

    Source: Yao et al. 2024, "τ-bench", arXiv 2406.12045, section 3.
    """
    return comb(c, k) / comb(n, k)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased estimate that one of k tries passes, from c passes in n: 1 - C(n - c, k) / C(n, k).

    Source: Chen et al. 2021, "Evaluating Large Language Models Trained on Code", arXiv 2107.03374, eq. 1.
    """
    return 1 - comb(n - c, k) / comb(n, k)


ESTIMATES: dict[str, Callable[[int, int, int], float]] = {"pass^k": pass_hat_k, "pass@k": pass_at_k}


class Repeats:
    """The cases with at least two scored repetitions, for every group of a frame."""

    def __init__(self, scored: pd.DataFrame, keys: Sequence[str]) -> None:
        case = list(dict.fromkeys([*keys, "case_id"]))
        alike = scored.groupby([*case, "behaviour"], sort=True, observed=True).size().groupby(case)
        cases = pd.DataFrame({"size": alike.sum(), "modal": alike.max(), "distinct": alike.size()})
        cases["passed"] = scored.groupby(case, sort=True, observed=True)["passed"].sum()
        cases = cases[cases["size"] > 1].astype(float).reset_index()
        self._values = cases[["size", "modal", "distinct", "passed"]].to_numpy(dtype=float)
        self._rows = positions(cases, keys)

    def figures(self, key: Key) -> Iterator[dict[str, Any]]:
        """Yield the metrics. ``k`` is the smallest number of repetitions any of the cases has."""
        sizes, modal, distinct, passed = self._values[self._rows.get(key, [])].T
        k = int(sizes.min()) if len(sizes) else 0
        ones = np.ones_like(sizes)
        yield _figure("consistency", modal, sizes, "attempts of repeated cases")
        yield _figure("distinct_decisions", distinct, ones, "repeated cases")
        counts = list(zip(sizes.astype(int), passed.astype(int), strict=True))
        for name, estimate in ESTIMATES.items():
            values = np.array([estimate(int(n), int(c), k) for n, c in counts], dtype=float)
            yield _figure(name, values, ones, f"repeated cases, k={k}" if k else "repeated cases")


def _figure(metric: str, above: Vector, below: Vector, unit: str) -> dict[str, Any]:
    numerator, denominator = float(above.sum()), int(below.sum())
    if not denominator:
        return figure(metric, None, 0, 0, unit=unit)
    if metric == "distinct_decisions":
        low, high = mean_interval(above, below)
    else:
        ends = share_intervals(above[:, None], below[:, None])
        low, high = float(ends[0][0]), float(ends[1][0])
    return figure(metric, numerator / denominator, numerator, denominator, low, high, unit)


def by_case(attempts: pd.DataFrame) -> pd.DataFrame:
    """Return ``player, case_id, repetitions, passed, distinct, modal_share`` for an arm's repeated cases.

    ``distinct`` counts different behaviour (decision and arguments); ``modal_share`` is the share of
    repetitions that behave in the most frequent way.
    """
    rows = []
    scored = attempts[attempts["scored"].astype(bool)]
    for (player, case), mine in scored.groupby(["player", "case_id"], sort=True):
        counts = mine["behaviour"].value_counts()
        passed, share = int(mine["passed"].sum()), float(counts.max() / len(mine))
        if len(mine) > 1:
            rows.append((player, case, len(mine), passed, len(counts), share))
    columns = ["player", "case_id", "repetitions", "passed", "distinct", "modal_share"]
    return pd.DataFrame(rows, columns=columns)


def curves(attempts: pd.DataFrame, players: Sequence[str]) -> pd.DataFrame:
    """Return ``player, k, pass^k, pass@k``: means over cases, for k up to what every case of a player has.

    At the largest k these are the metrics ``pass^k`` and ``pass@k``.
    """
    cases = by_case(attempts)
    rows = []
    for player in players:
        mine = cases[cases["player"] == player]
        counts = list(zip(mine["repetitions"], mine["passed"], strict=True))
        for k in range(1, int(mine["repetitions"].min()) + 1 if len(mine) else 1):
            means = {
                name: float(np.mean([estimate(n, c, k) for n, c in counts]))
                for name, estimate in ESTIMATES.items()
            }
            rows.append({"player": player, "k": k, **means})
    return pd.DataFrame(rows, columns=["player", "k", *ESTIMATES])
