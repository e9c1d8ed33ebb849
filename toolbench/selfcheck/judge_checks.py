"""Selfcheck of the judge: it reports every mistake, nothing else, and finds nothing wrong with perfection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from toolbench.authoring.mutate import mutate_arguments
from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.case import Case
from toolbench.domain.condition import BUILT_IN_CONDITIONS
from toolbench.domain.contract import ToolSpec
from toolbench.domain.suite import Suite
from toolbench.selfcheck.breakages import mutation_score
from toolbench.selfcheck.harmless import false_alarms
from toolbench.selfcheck.oracle import perform
from toolbench.selfcheck.rehearse import rehearse
from toolbench.selfcheck.rehearsed import Played, imperfect, judged
from toolbench.selfcheck.section import Section
from toolbench.selfcheck.traces import broken_traces

GENERATED = (
    "generated sentences: they show that no check has stopped working, not how often the judge errs on what "
    "models write (that is labelled_replies)"
)
ORACLE_CONDITIONS = ("auto", "reversed", "forced", "no_tools", "no_hints")
Chosen = Sequence[tuple[Suite, Sequence[Case]]]


def validator_mutations(suites: Sequence[Suite]) -> Section:
    """Every single fault in the arguments of every expected call has its own code, and only that."""
    faults, kinds = [], set()
    checked = 0
    for suite in suites:
        for tool, arguments in _expected_calls(suite):
            for mutation in mutate_arguments(tool, arguments):
                checked += 1
                kinds.add(mutation.kind)
                found = {issue.code for issue in tool.issues(mutation.arguments)}
                if found != mutation.expected_codes:
                    expected, got = sorted(mutation.expected_codes), sorted(found)
                    where = f"{suite.name}/{tool.name}: {mutation.kind} at {mutation.path}"
                    faults.append(f"{where}: {expected} due, got {got}")
    notes = [f"kinds: {', '.join(sorted(kinds))}"]
    return Section("validator_mutations", "argument faults told apart", checked, faults, notes)


def _expected_calls(suite: Suite) -> Iterator[tuple[ToolSpec, Mapping[str, JSON]]]:
    seen = set()
    for case in suite.cases:
        tools = suite.of(case).contract.by_name
        for expect in (case.expect, *(turn.expect for turn in case.turns)):
            for call in expect.calls:
                key = canonical_json([call.tool, dict(tools[call.tool].parameters), dict(call.arguments)])
                if key not in seen:
                    seen.add(key)
                    yield tools[call.tool], call.arguments


def broken_conversations() -> Section:
    """Each deliberately broken trace is explained by exactly its codes."""
    traces = broken_traces()
    faults, notes = [], []
    for trace in traces:
        found = trace.reported()
        notes.append(f"{trace.name}: {', '.join(sorted(trace.codes))}")
        if found != trace.codes:
            due, got = ", ".join(sorted(trace.codes)), ", ".join(sorted(found)) or "nothing"
            faults.append(f"{trace.name} ({trace.why}): {due} due, got {got}")
    return Section("broken_traces", "broken conversations explained", len(traces), faults, notes)


def breakage_score(chosen: Chosen, sample: str) -> Section:
    """Break the chosen cases in every applicable way."""
    total = mutation_score(chosen)
    faults = [str(survivor) for survivor in total.survivors]
    caught = total.made - len(total.survivors)
    notes = [
        f"mutation score {_percent(total.score)}: {caught} of {total.made} breakages reported with the "
        f"right code; {len(total.kinds)} kinds, {len(total.codes)} codes; {sample}",
        GENERATED,
    ]
    figures: dict[str, JSON] = {
        "score": total.score,
        "made": total.made,
        "sample": sample,
        "kinds": dict(sorted(total.kinds.items())),
        "codes": dict(sorted(total.codes.items())),
    }
    return Section("mutation_score", "mistakes reported", total.made, faults, notes, figures)


def false_alarm_rate(chosen: Chosen, sample: str) -> Section:
    """Tell and write the chosen cases differently."""
    total = false_alarms(chosen)
    faults = [str(alarm) for alarm in total.alarms]
    notes = [
        f"false-alarm rate {_percent(total.rate)}: {len(total.alarms)} of {total.made} harmless variations; "
        f"{len(total.kinds)} kinds; {sample}",
        f"{total.strict_by_design} spellings that only a declared normaliser takes for the same: nothing "
        "after normalisation, argument_mismatch in the strict figure by design",
        GENERATED,
    ]
    figures: dict[str, JSON] = {
        "rate": total.rate,
        "made": total.made,
        "sample": sample,
        "strict_by_design": total.strict_by_design,
        "kinds": dict(sorted(total.kinds.items())),
    }
    return Section("false_alarm_rate", "harmless behaviour left alone", total.made, faults, notes, figures)


def perfect_player(suites: Sequence[Suite]) -> Section:
    """The player that knows the gold has no finding and perfect figures, under every built-in condition."""
    played: list[Played] = []
    for suite in suites:
        for name in ORACLE_CONDITIONS:
            condition = BUILT_IN_CONDITIONS[name]
            for case in filter(condition.admits, suite.cases):
                attempt = rehearse(suite, case, perform(suite, case, condition).script, condition)
                played.append((suite, condition, attempt))
    frame, verdicts = judged(played)
    faults: list[str] = []
    for (suite, condition, attempt), verdict in zip(played, verdicts, strict=True):
        where = f"{suite.name}/{attempt.lang}/{attempt.case_id} ({condition.name})"
        if verdict is None:
            faults.append(f"{where}: not judged")
        else:
            faults += [f"{where}: {finding.code}: {finding.reason}" for finding in verdict.findings]
    faults += list(imperfect(frame))
    notes = [f"every case under {', '.join(ORACLE_CONDITIONS)}, where admitted"]
    return Section("perfect_player", "no finding, every figure 1", len(played), faults, notes)


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.2%}"
