"""The one way from an attempt to its rows, whether it is being made or was read from a log."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd

from toolbench.domain.condition import Condition
from toolbench.domain.extensions import extensions_of
from toolbench.domain.keys import AttemptKey, PlayerKey
from toolbench.domain.price import Tariff
from toolbench.domain.record import Attempt, RunHeader
from toolbench.domain.suite import Suite
from toolbench.judging.essence import digest, essence
from toolbench.judging.guard import Judged, judge
from toolbench.judging.overruling import Said
from toolbench.judging.score import Verdict
from toolbench.numbers.rows import DTYPES, attempt_row, case_facts, identity
from toolbench.numbers.samples import Replies

Row = dict[str, Any]
KNOWN = 4096
"""Verdicts kept in memory for conversations that are had again: repetitions of a case are near each other."""
CHUNK = 4096
"""Rows kept as Python objects before they are packed into columns."""


class Scorer:
    """Judges attempts of the given suites and conditions.

    ``said`` is what people have said about attempts, where the figures are to use it.
    """

    def __init__(
        self,
        suites: Mapping[str, Suite],
        conditions: Mapping[str, Condition],
        tariffs: Mapping[PlayerKey, Tariff],
        said: Mapping[AttemptKey, Said] = MappingProxyType({}),
    ) -> None:
        self.suites = suites
        self._conditions = conditions
        self._tariffs = tariffs
        self._said = said
        self._known: dict[bytes | None, Judged] = {}
        self.replies = Replies()
        self._facts = functools.cache(self._facts_of)

    @classmethod
    def of(cls, header: RunHeader, said: Mapping[AttemptKey, Said] = MappingProxyType({})) -> Scorer:
        """Return the scorer of a run: its suites, conditions and prices as they were when it started."""
        tariffs = {PlayerKey.of(player): Tariff.of(player) for player in header.players}
        return cls(header.load_suites(), header.load_conditions(), tariffs, said)

    def sampled(self, attempt: Attempt) -> tuple[Row, Verdict | None]:
        """Do as :meth:`judged` with attempts as they come: one whose replies came before is no sample."""
        return self.judged(attempt, self.replies.came_before(attempt))

    def judged(self, attempt: Attempt, first: AttemptKey | None = None) -> tuple[Row, Verdict | None]:
        """Return the row of an attempt, columns :data:`toolbench.numbers.rows.ATTEMPT`, and its verdict.

        ``first`` is the attempt that has had all its replies before, if there is one: then it has no verdict.
        """
        facts = self._facts(attempt.suite, attempt.lang, attempt.case_id, attempt.condition)
        suite, condition = self.suites[attempt.suite], self._conditions[attempt.condition]
        if first is None:
            judged = self._judge(attempt, suite, condition)
        else:
            told = f"a cache answered: the replies are those of repetition {first.repetition + 1}"
            judged = Judged("cached", None, told)
        row = attempt_row(attempt, judged, self._tariffs.get(attempt.key.player, Tariff()))
        return {**identity(attempt), **facts, **row}, judged.verdict

    def _judge(self, attempt: Attempt, suite: Suite, condition: Condition) -> Judged:
        """Judge an attempt; a conversation that was had before has its verdict already."""
        said = self._said.get(attempt.key, {})
        if said or extensions_of("checks"):
            # A check of somebody else's may look at everything.
            return judge(attempt, suite, condition, said=said)
        plain = essence(attempt)
        key = digest(plain)
        found = self._known.get(key)
        if found is None:
            found = judge(plain, suite, condition)
            if len(self._known) == KNOWN:
                self._known.clear()
            if key is not None and found.verdict is not None:
                self._known[key] = found
        return found

    def _facts_of(self, suite: str, lang: str, case_id: str, condition: str) -> Row:
        case = self.suites[suite].case_by_key[lang, case_id]
        return case_facts(self.suites[suite], case, self._conditions[condition])


class Table:
    """Collects rows and packs them chunk by chunk, so that memory holds columns and not dictionaries."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = list(columns)
        self._types = {name: DTYPES.get(name, "object") for name in columns}
        self._rows: list[tuple[Any, ...]] = []
        self._chunks: list[pd.DataFrame] = []
        self._texts: dict[str | None, str | None] = {}

    def add(self, row: dict[str, Any]) -> None:
        """Take one row; a column it lacks is missing."""
        self._rows.append(tuple(map(row.get, self._columns)))
        if len(self._rows) == CHUNK:
            self._pack()

    def frame(self) -> pd.DataFrame:
        """Return everything collected; an empty table has the same columns and types as a full one."""
        if self._rows or not self._chunks:
            self._pack()
        return pd.concat(self._chunks, ignore_index=True)

    def _pack(self) -> None:
        columns = list(zip(*self._rows, strict=True)) or [()] * len(self._columns)
        packed = {
            name: pd.Series(
                self._shared(values) if self._types[name] == "str" else values, dtype=self._types[name]
            )
            for name, values in zip(self._columns, columns, strict=True)
        }
        self._chunks.append(pd.DataFrame(packed))
        self._rows = []

    def _shared(self, texts: Sequence[str | None]) -> list[str | None]:
        """Return texts as a column can hold them; equal ones are one object, as identities repeat."""
        for text in set(texts) - self._texts.keys():
            # Half a character (a lone surrogate, as a model may write) is spelt out.
            self._texts[text] = text and text.encode("utf-8", "backslashreplace").decode("utf-8")
        return [self._texts[text] for text in texts]
