"""What people have said about an attempt, put in place of what the judge found.

Facts of calls stay as they are: a person decides what findings come to, not what was called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolbench.domain.labels import Label
from toolbench.judging.counting import REVIEW
from toolbench.judging.trace import Finding

Said = Mapping[str | None, Label]
"""The labels of one attempt by the finding they are about; ``None`` is about all of it."""


def overrule(findings: Sequence[Finding], said: Said) -> tuple[Finding, ...]:
    """Return what is left of findings, and what a person found instead.

    A label that the attempt should pass takes away the finding it is about, or all of them. One that it
    should fail turns what was unclear into a fault, and faults an attempt in which nothing was found. One
    that is unclear changes nothing.
    """
    whole = said.get(None)
    if whole is not None and whole.verdict == "pass":
        return ()
    kept = []
    for finding in findings:
        label = said.get(finding.code)
        if label is not None and label.verdict == "fail" and finding.layer == REVIEW:
            kept.append(_fault(label, finding))
        elif label is None or label.verdict != "pass":
            kept.append(finding)
    if whole is not None and whole.verdict == "fail" and all(one.layer == REVIEW for one in kept):
        return (_fault(whole),)
    return tuple(kept)


def _fault(label: Label, finding: Finding | None = None) -> Finding:
    told = f": {label.note}" if label.note else ""
    return Finding(
        "judged_by_person",
        path=finding.path if finding else "final",
        expected=finding.expected if finding else "a right attempt",
        actual=finding.actual if finding else "a wrong one",
        reason=f"{label.who} says that it is wrong{told}",
    )
