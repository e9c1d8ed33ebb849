"""What repetitions of one case say: consistency, distinct decisions, ``pass^k`` and ``pass@k``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import comb
from typing import Any

import numpy as np
import pandas as pd

from toolbench.judging.counts import COUNT
from toolbench.numbers.tables import Clustered, Key, figure, positions, ratio

ARM = ("suite", "lang", "condition")
"""Groups that agree in these are read side by side, so that they share one ``k``."""


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
SHARES = {"consistency": ("modal", "size"), **{name: (name, "one") for name in ESTIMATES}}
"""Metric → the columns per case whose sums are divided."""
REPEATED = (*SHARES, "distinct_decisions")
"""Every metric of this module."""


class Repeats:
    """The cases with at least two scored repetitions, for every group of a frame.

    A repetition that only a person can judge is not passed in the value, and passed in ``best``. ``k`` is the
    smallest number of scored repetitions that any of them has in the suite, language and
    condition: whoever lost an attempt would otherwise be asked for less than the others.
    """

    def __init__(self, scored: pd.DataFrame, keys: Sequence[str]) -> None:
        case = list(dict.fromkeys([*keys, "scenario", "case_id"]))
        alike = scored.groupby([*case, "behaviour"], sort=True, observed=True).size().groupby(case)
        cases = pd.DataFrame({"size": alike.sum(), "modal": alike.max(), "distinct": alike.size()})
        sums = scored.groupby(case, sort=True, observed=True)[[COUNT.passed, COUNT.review]].sum()
        cases["passed"], cases["open"] = sums[COUNT.passed], sums[COUNT.review]
        cases = cases[cases["size"] > 1].astype(float).reset_index()
        cases["k"] = cases.groupby(list(ARM), observed=True)["size"].transform("min")
        for end, passed in (("", cases["passed"]), (" at best", cases["passed"] + cases["open"])):
            counts = list(zip(cases["size"].astype(int), passed.astype(int), cases["k"], strict=True))
            for name, estimate in ESTIMATES.items():
                cases[name + end] = [estimate(n, c, int(k)) for n, c, k in counts]
        cases["one"] = 1.0
        self._cases = cases
        self._rows = positions(cases, keys)
        above, below = (
            cases[list(names)].to_numpy(dtype=float) for names in zip(*SHARES.values(), strict=True)
        )
        self._clusters = Clustered(self._rows, cases["scenario"].to_numpy(dtype=str), above, below)

    def figures(self, key: Key) -> Iterator[dict[str, Any]]:
        """Yield the metrics. ``distinct_decisions`` has no interval: none was found that covers."""
        mine = self._cases.iloc[self._rows.get(key, np.array([], dtype=np.intp))]
        low, high, _ = self._clusters.of(key)
        beside = {"cases": len(mine), "clusters": mine["scenario"].nunique()}
        units = {"consistency": "attempts of repeated cases", "distinct_decisions": "repeated cases"}
        if len(mine):
            units = dict.fromkeys(ESTIMATES, f"repeated cases, k={mine['k'].iloc[0]:.0f}") | units
        for number, (name, (top, bottom)) in enumerate(SHARES.items()):
            yield {
                **_figure(name, mine, top, bottom, units),
                "ci_low": low[number],
                "ci_high": high[number],
                **beside,
                **_ends(name, mine),
            }
        yield {**_figure("distinct_decisions", mine, "distinct", "one", units), **beside}


def _ends(name: str, cases: pd.DataFrame) -> dict[str, float]:
    """Return the bounds where repetitions are left to a person."""
    if name not in ESTIMATES or not cases["open"].any():
        return {}
    ends = {"worst": cases[name].mean(), "best": cases[f"{name} at best"].mean()}
    return {"to_review": int(cases["open"].sum()), **ends}


def _figure(
    name: str, cases: pd.DataFrame, above: str, below: str, units: Mapping[str, str]
) -> dict[str, Any]:
    numerator, denominator = float(cases[above].sum()), int(cases[below].sum())
    unit = units.get(name, "repeated cases")
    return figure(name, ratio(numerator, denominator), numerator, denominator, unit=unit)


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
    """Return ``player, k, pass^k, pass@k``: means over cases, for k up to what every case of all players has.

    At the largest k these are the metrics ``pass^k`` and ``pass@k``.
    """
    cases = by_case(attempts)
    most = int(cases["repetitions"].min()) if len(cases) else 0
    rows = []
    for player in players:
        mine = cases[cases["player"] == player]
        counts = list(zip(mine["repetitions"], mine["passed"], strict=True))
        for k in range(1, most + 1 if counts else 1):
            means = {
                name: float(np.mean([estimate(n, c, k) for n, c in counts]))
                for name, estimate in ESTIMATES.items()
            }
            rows.append({"player": player, "k": k, **means})
    return pd.DataFrame(rows, columns=["player", "k", *ESTIMATES])
