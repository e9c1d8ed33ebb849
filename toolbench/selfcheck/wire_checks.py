"""Selfcheck of the adapters: a model's mistake must never be an adapter's, and no loss may go unnamed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from toolbench.adapters import ADAPTERS, Offer, Request, adapter_for
from toolbench.adapters.profiles import dialects
from toolbench.adapters.samples import mismatches, sample_request, samples
from toolbench.domain.canonical import JSON
from toolbench.domain.case import Case
from toolbench.domain.condition import BUILT_IN_CONDITIONS
from toolbench.domain.config import ModelConfig, Settings
from toolbench.domain.suite import Suite
from toolbench.errors import SuiteError, TransportError
from toolbench.selfcheck.rehearse import Move, Proposal, judge
from toolbench.selfcheck.schema_diff import differences, sent_tools
from toolbench.selfcheck.second_turn import second_turn_faults
from toolbench.selfcheck.section import Section

KINDS = (
    "text",
    "one_call",
    "several_calls",
    "invalid_arguments",
    "refusal",
    "truncated",
    "leaked_call",
)
"""Kinds of reply that every protocol must have a fixture of, where its wire has that kind."""
WITHOUT = {"ollama_chat": {"refusal"}}
"""Protocol → kinds its wire does not have."""


def adapter_fixtures() -> Section:
    """Every sample reply of every protocol becomes the decision it must become."""
    faults, counted = [], Counter[str]()
    for protocol in ADAPTERS:
        named = {sample.name for sample in samples(protocol)}
        due = [kind for kind in KINDS if kind not in WITHOUT.get(protocol, ())]
        faults += [f"{protocol}: no fixture named {kind}" for kind in due if kind not in named]
        for sample in samples(protocol):
            counted[protocol] += 1
            faults += [f"{protocol}/{sample.name}: {line}" for line in mismatches(sample)]
    notes = [f"{protocol}: {count} replies" for protocol, count in counted.items()]
    return Section("adapter_fixtures", "replies read as they must be", counted.total(), faults, notes)


def sent_schemas(suites: Sequence[Suite]) -> Section:
    """The tools in the requests are those of the contracts, or every difference is a named loss."""
    faults: list[str] = []
    losses: dict[str, Counter[str]] = {}
    checked = 0
    for way, model in _ways():
        lost = losses.setdefault(way, Counter())
        for suite in suites:
            for lang in suite.langs:
                try:
                    request = _request(model, suite, lang)
                except (SuiteError, TransportError) as fault:
                    lost[f"not sent: {fault}"] += 1
                    continue
                checked += len(suite.contract.tools)
                found = differences(request, suite.contract.tools, lang)
                faults += [f"{way}: {suite.name}/{one}" for one in found if not one.named_by(request.losses)]
                lost.update(f"{suite.name}/{line}" for line in request.losses)
    notes = [f"{way}: {_summary(lost)}" for way, lost in losses.items()]
    named = {way: sorted(lost) for way, lost in losses.items()}
    figures: dict[str, JSON] = {"losses": named}
    return Section("sent_schemas", "tools sent as the contract has them", checked, faults, notes, figures)


def _ways() -> Iterator[tuple[str, ModelConfig]]:
    """Yield every dialect of every protocol, as it is and in strict mode."""
    for protocol in ADAPTERS:
        for name, dialect in dialects(protocol)[1].items():
            for strict in (None, True) if dialect.strict_rules else (None,):
                settings = Settings(strict=strict)
                model = ModelConfig(
                    "selfcheck", "m-1", protocol, "http://127.0.0.1", profile=name, settings=settings
                )
                yield f"{protocol}/{name}{' strict' if strict else ''}", model


def _request(model: ModelConfig, suite: Suite, lang: str, tools: bool = True) -> Request:
    adapter = adapter_for(model.protocol)
    offered = suite.contract.tools if tools else ()
    offer = Offer(offered, lang, {tool.name: tool.name for tool in offered})
    history = adapter.start(suite.prompt(lang), [{"role": "user", "content": "Hello"}], offer)
    return adapter.build_request(model, history, offer)


def _summary(losses: Counter[str]) -> str:
    """Count losses by what they say: the keyword and its fate."""
    if not losses:
        return "nothing lost"
    kinds = Counter(_kind(line) for line in losses)
    counted = ", ".join(f"{kind} × {count}" for kind, count in kinds.most_common())
    return f"{len(losses)} losses, each named in the request: {counted}"


def _kind(line: str) -> str:
    field, _, fate = line.partition(": ")[2].partition(" ")
    return f"{field.rpartition('.')[2]} {fate}" if field.startswith("$") else line


def no_tools_control(suites: Sequence[Suite]) -> Section:
    """Without tools no request holds any, and a call that is reported all the same is flagged."""
    faults: list[str] = []
    checked = 0
    for way, model in _ways():
        for suite in suites:
            checked += 1
            body = _request(model, suite, suite.langs[0], tools=False).body
            left = [tool.name for tool in sent_tools(body)]
            left += [key for key in body if "tool" in key.lower() or "function" in key.lower()]
            faults += [f"{way}/{suite.name}: the request has {name!r}" for name in left]
    nothing = Offer((), "en", {})
    for protocol in ADAPTERS:
        sample = next(sample for sample in samples(protocol) if sample.name == "one_call")
        decision = adapter_for(protocol).parse_decision(sample.body, sample_request(protocol), nothing)
        checked += 1
        if not decision.calls:
            faults.append(f"{protocol}: a call that nobody can have made disappears")
    for suite in suites:
        checked += 1
        faults += _uncontrolled(suite)
    return Section("no_tools_control", "no tools, no calls", checked, faults)


def _uncontrolled(suite: Suite) -> Iterator[str]:
    """Play a call under the control condition: the judge must flag it and count it apart."""
    control = BUILT_IN_CONDITIONS["no_tools"]
    case = next((c for c in suite.cases if c.expect.calls and control.admits(c)), None)
    if case is None:
        yield f"{suite.name}: no case to play without tools"
        return
    verdict = judge(suite, case, [_gold_call(case), Move("Hm.")] + [Move("Hm.")] * len(case.turns), control)
    if "unexpected_call" not in verdict.codes or verdict.counts.control_calls != 1:
        yield f"{suite.name}/{case.id}: a call without tools is not flagged"
    if verdict.counts.decisions:
        yield f"{suite.name}/{case.id}: an attempt without tools counts as a decision"


def _gold_call(case: Case) -> Move:
    call = case.expect.calls[0]
    return Move(calls=(Proposal(call.tool, dict(call.arguments)),))


def second_turns() -> Section:
    """Results follow their calls, with the right ids or names, errors told apart."""
    faults = []
    for protocol in ADAPTERS:
        sample = next(sample for sample in samples(protocol) if sample.name == "several_calls")
        faults += [f"{protocol}: {fault}" for fault in second_turn_faults(protocol, sample)]
    return Section("second_turns", "results go back where they belong", len(ADAPTERS), faults)
