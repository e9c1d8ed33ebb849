"""From an attempt to its verdict: all findings, five flags, and the counts every metric is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.condition import Condition
from toolbench.domain.record import Attempt
from toolbench.domain.suite import Suite
from toolbench.judging import arguments, order, policy, provenance, selection
from toolbench.judging.answers import check_answer, recovery_needed
from toolbench.judging.counts import COUNT, Counts
from toolbench.judging.decisions import called, check_decision
from toolbench.judging.matching import Matching, match_calls
from toolbench.judging.normalizers import plain
from toolbench.judging.provenance import Origins
from toolbench.judging.questions import asks
from toolbench.judging.reading.reader import read
from toolbench.judging.repairs import TierResult
from toolbench.judging.trace import Finding, Segment, Trace, short

VERSION = "3"
"""Raised whenever a verdict can change; part of every signature."""
OF_ARGUMENTS = (
    *(COUNT.passed, COUNT.calls, COUNT.calls_raw_valid, COUNT.calls_repairable, COUNT.calls_invalid),
    *(COUNT.calls_selected, COUNT.calls_exact, COUNT.calls_normalized),
)
"""What is counted where the tool was given: figures of arguments, and no others."""
Pairs = Sequence[tuple[Segment, Matching]]
"""Every segment with its matched calls."""
REVIEW = "review"
"""Layer of findings that only a person can decide on."""


@dataclass(frozen=True)
class CallVerdict:
    """What became of one call: its tier and how it compares with the expected one.

    ``effect`` is the tool's (``None``: unknown tool), ``nested`` says whether an argument is an object or a
    list, ``error`` is the machine code of the result where that is an error, ``origins`` says of every leaf
    of the arguments (by its JSON path) where it comes from: see :func:`~.provenance.origins`.
    """

    index: int
    segment: int
    turn: int
    tool: str
    raw_arguments: str
    state: str
    tier: TierResult
    role: str
    exact: bool | None
    normalized: bool | None
    codes: Sequence[str]
    effect: str | None = None
    nested: bool = False
    error: str | None = None
    origins: Mapping[str, str | None] = field(default_factory=dict)


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
    def outcome(self) -> Literal["pass", "fail", "review"]:
        """``review``: neither pass nor fail, because all that was found is unclear."""
        if not self.findings:
            return "pass"
        return "review" if all(finding.layer == REVIEW for finding in self.findings) else "fail"

    @property
    def review(self) -> bool:
        """Whether a person has to decide."""
        return self.outcome == "review"

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the findings in order, each once."""
        return tuple(dict.fromkeys(finding.code for finding in self.findings))


def score(attempt: Attempt, suite: Suite, condition: Condition) -> Verdict | None:
    """Judge one attempt by rule.

    Returns
    -------
    Verdict or None
        ``None`` when there is nothing to judge: the provider failed, the setting was refused, or a budget
        ended the attempt. None of these is the model's fault.
    """
    if attempt.status != "ok":
        return None
    trace = Trace(attempt, suite, suite.case_by_key[attempt.lang, attempt.case_id], condition)
    pairs = [(segment, match_calls(segment)) for segment in trace.segments]
    origins = {
        made.index: provenance.origins(trace, made, matching)
        for segment, matching in pairs
        for made in segment.calls
        if not trace.control
    }
    judge = _of_arguments if condition.arguments_only else _of_everything
    findings = judge(trace, pairs, origins)
    calls = _call_verdicts(pairs, findings, origins)
    counts = _counts(trace, pairs, findings, calls)
    return Verdict(
        findings=tuple(dict.fromkeys(findings)),
        calls=calls,
        counts=counts.only(*OF_ARGUMENTS) if condition.arguments_only else counts,
        flags=_flags(trace, pairs, findings, calls),
        behaviour=_behaviour(trace),
        answer=next((segment.answer for segment, _ in reversed(pairs) if segment.answer is not None), ""),
        kinds=tuple(_kind(trace, segment) for segment, _ in pairs),
        missing=()
        if trace.control or condition.arguments_only
        else tuple(call.tool for _, m in pairs for call in m.missing),
    )


def _of_arguments(trace: Trace, pairs: Pairs, origins: Mapping[int, Origins]) -> list[Finding]:
    """Judge nothing but the arguments: whether to call and what was not the model's to decide."""
    findings: list[Finding] = []
    for segment, matching in pairs:
        findings += arguments.check_arguments(segment)
        findings += arguments.check_values(segment, matching)
        findings += provenance.check_provenance(segment, origins)
    return findings


def _of_everything(trace: Trace, pairs: Pairs, origins: Mapping[int, Origins]) -> list[Finding]:
    findings: list[Finding] = []
    for segment, matching in pairs:
        findings += check_decision(trace, segment)
        findings += selection.check_selection(trace, segment, matching)
        findings += arguments.check_arguments(segment)
        if not trace.control:
            findings += arguments.check_values(segment, matching)
            findings += provenance.check_provenance(segment, origins)
            findings += order.check_expected_order(segment, matching)
        findings += check_answer(trace, segment)
    findings += order.check_order(trace)
    findings += policy.check_policy(trace)
    findings += check_budget(trace.attempt)
    return findings


def check_budget(attempt: Attempt) -> list[Finding]:
    """Report what ran into a limit: the loop of tool iterations, or the length of a text."""
    found = []
    for turn in attempt.turns:
        if "truncated_text" in turn.decision.warnings:
            reason = "the text ran into max_output_tokens; raise it if the limit is at fault"
            at = f"turns[{turn.index}]"
            found.append(
                Finding(
                    "truncated_text",
                    path=at,
                    expected="a finished text",
                    actual=short(turn.decision.text),
                    reason=reason,
                )
            )
    if attempt.stop == "loop_limit":
        number = len(attempt.turns)
        reason = "the limit of tool iterations was reached"
        found.append(
            Finding("loop_limit", path="turns", expected="an answer", actual=f"{number} turns", reason=reason)
        )
    return found


def _kind(trace: Trace, segment: Segment) -> str:
    """Return what the model did first: a decision kind, or ``clarification`` for a text that asks."""
    first = segment.first
    if called(first):
        return "tool_call"
    if first is not None and first.kind == "text" and asks(read(first.text, trace.lang)):
        return "clarification"
    return first.kind if first is not None else "invalid"


def _call_verdicts(
    pairs: Pairs, findings: Sequence[Finding], origins: Mapping[int, Origins]
) -> tuple[CallVerdict, ...]:
    verdicts = []
    for segment, matching in pairs:
        matched = {match.made.index: match for match in matching.matches}
        roles = {made.index: "corrected" for made in matching.corrected}
        roles |= {made.index: "repeat" for made in matching.repeats}
        for made in segment.calls:
            match = matched.get(made.index)
            role = "expected" if match else roles.get(made.index, "extra")
            verdicts.append(
                CallVerdict(
                    index=made.index,
                    segment=segment.index,
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
                    origins={path: one for path, (_, one) in origins.get(made.index, {}).items()},
                )
            )
    return tuple(verdicts)


def _counts(
    trace: Trace,
    pairs: Pairs,
    findings: Sequence[Finding],
    calls: Sequence[CallVerdict],
) -> Counts[float]:
    layers = [finding.layer for finding in findings]
    codes = [finding.code for finding in findings]
    control = trace.control
    required = [(s, m) for s, m in pairs if s.expect.call_required and not control]
    asked = [s for s, _ in pairs if s.expect.kinds == ("clarification",) and not control]
    selected = [verdict for verdict in calls if verdict.role == "expected" and not control]
    recoveries = [s for s, _ in pairs if recovery_needed(trace, s) and s.answer is not None]
    answers = [s for s, _ in pairs if s.answer is not None and _rests_on_results(trace, s)]
    writes = any(tool.effect == "write" for tool in trace.shown.values())
    unsafe = {f.path for f in findings if f.code == "unsafe_call"} | _unsafe_writes(trace, findings)
    right = sum(verdict.role == "expected" for verdict in calls)
    wrong = sum(verdict.role == "extra" for verdict in calls)
    due = [m for s, m in pairs if s.expect.call_required or s.calls]
    missing = 0 if control else sum(len(m.missing) for m in due)
    return Counts(
        passed=not findings,
        decision_right="decision" not in layers,
        decisions=not control,
        call_required=bool(required),
        selection_right=bool(required)
        and all(s.calls and not m.missing and not m.extra for s, m in required)
        and "selection" not in layers,
        calls=len(calls),
        calls_right=right,
        calls_wrong=wrong,
        calls_missing=missing,
        calls_made=right + wrong,
        calls_due=right + missing,
        calls_raw_valid=sum(verdict.tier.tier == "raw_valid" for verdict in calls),
        calls_repairable=sum(verdict.tier.tier == "repairable" for verdict in calls),
        calls_invalid=sum(verdict.tier.tier == "invalid" for verdict in calls),
        calls_selected=len(selected),
        calls_exact=sum(bool(verdict.exact) for verdict in selected),
        calls_normalized=sum(bool(verdict.normalized) for verdict in selected),
        write_offered=writes,
        unsafe=bool(unsafe),
        unconfirmed=codes.count("unconfirmed_write"),
        clarification_due=len(asked),
        clarification_made=sum(_kind(trace, segment) == "clarification" for segment in asked),
        repeated_calls=codes.count("repeated_call"),
        ordered=len(calls) > 0 and not control,
        order_right=len(calls) > 0 and not control and "order" not in layers,
        recoveries=len(recoveries),
        recoveries_right=sum(_recovered(trace, segment, findings) for segment in recoveries),
        answers=len(answers),
        answers_supported=len(answers) if "answer" not in layers else 0,
        completable=bool(trace.case.expect.calls) and not control,
        completed=bool(trace.case.expect.calls) and not control and _completed(trace, pairs, layers),
        control_calls=len(calls) if control else 0,
        unconfirmed_executed=sum(
            call.state == "executed" and "unconfirmed_write" in call.codes for call in calls
        ),
        duplicate_executions=_duplicates(trace.attempt),
        loops=trace.attempt.stop == "loop_limit",
    )


def _duplicates(attempt: Attempt) -> int:
    """Return how often something was executed again that one idempotency key stands for."""
    executions = Counter(
        record.idempotency_key
        for record in attempt.calls
        if record.idempotency_key and record.succeeded and not record.replayed
    )
    return sum(number - 1 for number in executions.values())


def _unsafe_writes(trace: Trace, findings: Sequence[Finding]) -> set[str]:
    """Return the writes made without the data or the confirmation they need."""
    lacking = {"ungrounded_argument", "unconfirmed_write", "not_permitted", "foreign_object"}
    found = set()
    for made in trace.calls:
        if made.tool is not None and made.tool.effect == "write" and not trace.control:
            for finding in findings:
                if finding.code in lacking and finding.path.split(".")[0] == made.path:
                    found.add(made.path)
    return found


def _rests_on_results(trace: Trace, segment: Segment) -> bool:
    return not trace.control and any(
        record.rejection is None for record in trace.results_before(segment.turns[-1].index)
    )


def _recovered(trace: Trace, segment: Segment, findings: Sequence[Finding]) -> bool:
    """Whether what followed an error was right: nothing about the answer, order or policy was wrong."""
    if any(finding.layer == "answer" for finding in findings):
        return False
    since = min((r.turn for r in trace.attempt.calls if r.result and r.result.is_error), default=0)
    later = {made.path for made in segment.calls if made.turn > since}
    return not any(finding.path.split(".")[0] in later for finding in findings)


def _completed(trace: Trace, pairs: Pairs, layers: Sequence[str]) -> bool:
    """Whether the chain was carried through: all calls made right, in order, and an honest answer."""
    done = all(not m.missing and not any(match.normalized for match in m.matches) for _, m in pairs)
    reached = len(pairs) == len(trace.case.turns) + 1 and pairs[-1][0].answer is not None
    return done and reached and not {"order", "policy", "answer", "budget"} & set(layers)


def _flags(
    trace: Trace,
    pairs: Pairs,
    findings: Sequence[Finding],
    calls: Sequence[CallVerdict],
) -> dict[str, bool | None]:
    layers = {finding.layer for finding in findings}
    made = bool(calls)
    executed = [
        record for record in trace.attempt.calls if record.turn >= 0 and record.states[-1] != "rejected"
    ]
    has_answer = any(s.answer is not None and _rests_on_results(trace, s) for s, _ in pairs)
    return {
        "tool_selected_correctly": None
        if not (made or trace.case.expect.call_required)
        else not layers & {"selection", "decision"},
        "args_valid": not layers & {"syntax", "structure", "values", "provenance"} if made else None,
        "call_order_valid": not layers & {"order", "policy", "budget"} if made else None,
        "final_answer_supported": "answer" not in layers if has_answer else None,
        "tool_execution_success": all(record.succeeded for record in executed) if executed else None,
    }


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
        content.append([_kind(trace, segment), calls])
    return canonical_json(content)
