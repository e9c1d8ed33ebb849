"""From an attempt to its verdict: all findings, five flags, and the counts every metric is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.condition import Condition
from toolbench.domain.extensions import extensions_of
from toolbench.domain.record import Attempt
from toolbench.domain.suite import Suite
from toolbench.errors import ExtensionError
from toolbench.judging import arguments, order, outcome, policy, provenance, selection
from toolbench.judging.answers import check_answer
from toolbench.judging.counting import CallVerdict, Outcome, Part, count, kind_of, outcome_of
from toolbench.judging.counts import COUNT, Counts
from toolbench.judging.decisions import check_decision
from toolbench.judging.leaks import leaked
from toolbench.judging.matching import Matching, match_calls
from toolbench.judging.normalizers import plain
from toolbench.judging.overruling import Said, overrule
from toolbench.judging.provenance import Origins
from toolbench.judging.trace import Finding, Segment, Trace, short

VERSION = "3"
"""Raised whenever a verdict can change; part of every signature."""
OF_ARGUMENTS = (
    *(COUNT.passed, COUNT.calls, COUNT.calls_raw_valid, COUNT.calls_repairable, COUNT.calls_invalid),
    *(COUNT.calls_selected, COUNT.calls_exact, COUNT.calls_normalized),
)
"""What is counted where the tool was given: figures of arguments, and no others."""
JUDGED = ("ok", "budget")
"""Status of the attempts that have a verdict: how often and how long to ask is the model's own doing."""


@dataclass(frozen=True)
class Verdict:
    """All that is known about one attempt.

    Attributes
    ----------
    findings
        Every violated condition; none means the attempt passed.
    calls
        One entry per proposed call.
    counts
        Sufficient statistics: sums of these over attempts give every metric.
    flags
        ``tool_selected_correctly``, ``args_valid``, ``call_order_valid``, ``final_answer_supported``,
        ``tool_execution_success``; ``None`` where a question does not arise.
    behaviour
        Normalised content of the attempt: kinds, sorted tools, canonical arguments. Equal ones mean
        equal behaviour.
    missing
        Tool of every expected call that was not made.
    """

    findings: tuple[Finding, ...]
    calls: tuple[CallVerdict, ...]
    counts: Counts[float]
    flags: Mapping[str, bool | None]
    behaviour: str
    answer: str = ""
    kinds: tuple[str, ...] = field(default_factory=tuple)
    missing: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing was violated, and nothing is left to a person."""
        return not self.findings

    @property
    def outcome(self) -> Outcome:
        """``review``: neither pass nor fail, because all that was found is unclear."""
        return outcome_of(self.findings)

    @property
    def review(self) -> bool:
        """Whether a person has to decide."""
        return self.outcome == "review"

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the findings in order, each once."""
        return tuple(dict.fromkeys(finding.code for finding in self.findings))


def score(
    attempt: Attempt, suite: Suite, condition: Condition, said: Said = MappingProxyType({})
) -> Verdict | None:
    """Judge one attempt by rule.

    Parameters
    ----------
    said
        What people have said about this attempt; it takes the place of what is found.

    Returns
    -------
    Verdict or None
        ``None`` when there is nothing to judge: the provider failed or the setting was refused. None of
        these is the model's fault.
    """
    if attempt.status not in JUDGED:
        return None
    case = suite.case_by_key[attempt.lang, attempt.case_id]
    trace = Trace(attempt, suite.of(case), case, condition)
    given = condition.arguments_only
    parts = _parts(trace, whole := [] if given else list(_of_the_whole(trace)))
    found = dict.fromkeys([*(finding for part in parts for finding in part.findings), *whole])
    findings = overrule(tuple(found), said)
    if said:
        parts = [part.with_only(findings, last=part is parts[-1]) for part in parts]
    calls = _call_verdicts(trace, parts, findings)
    counts = count(trace, parts, findings, calls)
    missing = () if trace.control or given else (call.tool for p in parts for call in p.matching.missing)
    return Verdict(
        findings=findings,
        calls=calls,
        counts=counts.only(*OF_ARGUMENTS) if given else counts,
        flags=_flags(trace, parts, findings),
        behaviour=_behaviour(trace),
        answer=next((p.segment.answer for p in reversed(parts) if p.segment.answer is not None), ""),
        kinds=tuple(kind_of(trace, part.segment) for part in parts),
        missing=tuple(missing),
    )


def _of_the_whole(trace: Trace) -> Iterator[Finding]:
    yield from order.check_order(trace)
    yield from policy.check_policy(trace)
    yield from outcome.check_end_state(trace)
    yield from _of_extensions(trace)
    yield from check_budget(trace)


def _of_extensions(trace: Trace) -> Iterator[Finding]:
    """Yield what checks of other packages find; one that fails stops the judging, and is named."""
    for one in extensions_of("checks").values():
        try:
            found = list(one.value.run(trace))
        except Exception as fault:
            told = " ".join(f"{type(fault).__name__}: {fault}".split())[:200]
            raise ExtensionError(f"extension {one} failed on case {trace.case.id}: {told}") from None
        yield from found


def _parts(trace: Trace, whole: Sequence[Finding]) -> list[Part]:
    """Judge every part of the conversation, and give what was found over all of it to the part it is in."""
    check = _of_arguments if trace.condition.arguments_only else _of_everything
    parts = []
    for segment in trace.segments:
        matching = match_calls(segment)
        made = () if trace.control else segment.calls
        origins = {call.index: provenance.origins(trace, call, matching) for call in made}
        placed = (finding for finding in whole if trace.segment_at(finding.path) is segment)
        found = (*check(trace, segment, matching, origins), *placed)
        parts.append(Part(segment, matching, found, origins))
    return parts


def _of_arguments(
    trace: Trace, segment: Segment, matching: Matching, origins: Mapping[int, Origins]
) -> Iterator[Finding]:
    """Judge nothing but the arguments: whether to call and what was not the model's to decide."""
    yield from arguments.check_arguments(segment)
    if not trace.control:
        yield from arguments.check_values(segment, matching)
        yield from provenance.check_provenance(segment, origins)


def _of_everything(
    trace: Trace, segment: Segment, matching: Matching, origins: Mapping[int, Origins]
) -> Iterator[Finding]:
    yield from check_decision(trace, segment)
    yield from selection.check_selection(trace, segment, matching)
    yield from _of_arguments(trace, segment, matching, origins)
    if not trace.control:
        yield from order.check_expected_order(segment, matching)
    yield from check_answer(trace, segment)
    yield from outcome.check_forbidden(trace, segment)


def check_budget(trace: Trace) -> Iterator[Finding]:
    """Report what ran into a limit: a text's length, the loop's iterations, the budget of one attempt."""
    attempt = trace.attempt
    for turn in attempt.turns:
        # A call written as text and cut is one fault: it was written.
        if "truncated_text" in turn.decision.warnings and not leaked(turn.decision, trace.shown):
            yield Finding(
                "truncated_text",
                path=f"turns[{turn.index}]",
                expected="a finished text",
                actual=short(turn.decision.text),
                reason="the text ran into max_output_tokens; raise it if the limit is at fault",
            )
    number = f"{len(attempt.turns)} turns"
    if attempt.stop == "loop_limit":
        reason = "the limit of tool iterations was reached"
        yield Finding("loop_limit", path="turns", expected="an answer", actual=number, reason=reason)
    if attempt.status == "budget":
        reason = str((attempt.error or {}).get("message", "the budget of one attempt is spent"))
        yield Finding("budget_exceeded", path="turns", expected="an answer", actual=number, reason=reason)


def _call_verdicts(
    trace: Trace, parts: Sequence[Part], findings: Sequence[Finding]
) -> tuple[CallVerdict, ...]:
    excess = {made.index for group in order.repeats(trace) for made in group.excess}
    verdicts = []
    for part in parts:
        matching = part.matching
        matched = {match.made.index: match for match in matching.matches}
        roles = {made.index: "corrected" for made in matching.corrected}
        roles |= {made.index: "repeat" if made.index in excess else "poll" for made in matching.repeats}
        roles |= {made.index: "free" for made in matching.free}
        for made in part.segment.calls:
            match = matched.get(made.index)
            role = "expected" if match else roles.get(made.index, "extra")
            verdicts.append(
                CallVerdict(
                    index=made.index,
                    segment=part.segment.index,
                    turn=made.turn,
                    tool=made.call.name,
                    raw_arguments=made.call.raw_arguments,
                    state=made.record.states[-1],
                    tier=arguments.tier(made),
                    role=role,
                    exact=not match.exact if match else None,
                    normalized=not match.normalized if match else None,
                    codes=tuple(f.code for f in findings if f.path.split(".")[0] == made.path),
                    effect=made.tool.effect if made.tool else None,
                    nested=any(isinstance(v, dict | list) for v in (made.call.arguments or {}).values()),
                    error=made.record.result.code if made.record.result else None,
                    origins={path: one for path, (_, one) in part.origins.get(made.index, {}).items()},
                )
            )
    return tuple(verdicts)


def _flags(trace: Trace, parts: Sequence[Part], findings: Sequence[Finding]) -> dict[str, bool | None]:
    """Return the flags; where no call was possible no question arises."""
    layers = {finding.layer for finding in findings}
    made = bool(trace.calls)
    executed = [
        record for record in trace.attempt.calls if record.turn >= 0 and record.states[-1] != "rejected"
    ]
    has_answer = any(part.segment.answer is not None and part.results(trace) for part in parts)
    flags = {
        "tool_selected_correctly": None
        if not (made or trace.case.expect.call_required)
        else not layers & {"selection", "decision"},
        "args_valid": not layers & {"syntax", "structure", "values", "provenance"} if made else None,
        "call_order_valid": not layers & {"order", "policy", "budget"} if made else None,
        "final_answer_supported": "answer" not in layers if has_answer else None,
        "tool_execution_success": all(record.succeeded for record in executed) if executed else None,
    }
    return dict.fromkeys(flags, None) if trace.control else flags


def _behaviour(trace: Trace) -> str:
    """Return the normalised content: per segment the kind and the sorted calls, arguments canonical."""
    content: list[JSON] = []
    for segment in trace.segments:
        calls = sorted(
            [
                made.call.name,
                canonical_json(plain(dict(made.call.arguments)))
                if made.call.arguments is not None
                else made.call.raw_arguments,
            ]
            for made in segment.calls
        )
        content.append([kind_of(trace, segment), calls])
    return canonical_json(content)
