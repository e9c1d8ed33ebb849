"""Labels that people gave to attempts of a run: read for the current judge, and put to use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from toolbench.domain import labels
from toolbench.domain.canonical import sha256
from toolbench.domain.codes import CODES
from toolbench.domain.keys import AttemptKey
from toolbench.domain.labels import Label
from toolbench.domain.log import RunLog
from toolbench.judging.overruling import Said
from toolbench.numbers.signature import judge_version

NOBODY = "none"
"""In a signature: the figures are the judge's alone."""


@dataclass(frozen=True)
class People:
    """The labels of a run that can be used, and a line on each that cannot."""

    by_attempt: Mapping[AttemptKey, Said]
    problems: tuple[str, ...] = ()

    @property
    def signature(self) -> str:
        """How many labels there are, who gave them, and a hash of them all."""
        given = [label for said in self.by_attempt.values() for label in said.values()]
        if not given:
            return NOBODY
        who = ",".join(sorted({label.who for label in given}))
        return f"{len(given)} by {who}@{sha256([label.to_json() for label in given])[:8]}"


NO_LABELS = People({})


def people(log: RunLog) -> People:
    """Return the labels beside a run's log.

    Raises
    ------
    LogError
        When the file of labels cannot be read.
    """
    folder = log.path.parent
    if not (folder / labels.LABELS_NAME).exists():
        return People({})
    found = labels.read(folder, {one.key: labels.digest(one) for one in log.attempts}, judge_version())
    by_attempt: dict[AttemptKey, dict[str | None, Label]] = defaultdict(dict)
    problems = list(found.problems)
    for (attempt, code), label in found.found.items():
        if code is None or code in CODES:
            by_attempt[attempt][code] = label
        else:
            problems.append(f"{folder / labels.LABELS_NAME}: {code!r} is the code of no finding")
    return People(dict(by_attempt), tuple(problems))
