"""Lint of one case: is what it expects allowed, derivable and reachable?

Every function yields reasons, one line each; the caller knows file and line.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, permutations

from toolbench.authoring.ground import Ground, Moment, moments
from toolbench.authoring.grounding import ungrounded
from toolbench.authoring.lint_values import first_name, lint_end_state, lint_replies, lint_values, put
from toolbench.domain.canonical import canonical_json
from toolbench.domain.case import Case, ExpectedCall
from toolbench.domain.contract import Contract
from toolbench.domain.rules import Rules
from toolbench.judging.values import part_of

MAX_ORDERS = 720
"""Orders of expected calls tried: all of them for up to six calls."""


def lint_case(case: Case, bench: Ground) -> Iterator[str]:
    """Yield every reason why a schema-valid case cannot be trusted."""
    unknown = list(_unknown_tools(case, bench.contract))
    yield from unknown
    yield from _unowned(case, bench.contract)
    yield from _broken_history(case)
    if unknown:
        return
    yield from lint_replies(case, bench.contract)
    yield from lint_end_state(case, bench.contract)
    for stage in moments(case):
        for reason in _stage_reasons(case, stage, bench):
            yield f"{stage.at}{reason}"


def _stage_reasons(case: Case, stage: Moment, bench: Ground) -> Iterator[str]:
    yield from _contradictions(stage, case, bench.contract)
    invalid = False
    for index, call in enumerate(stage.expect.calls):
        for place, one in enumerate(call.alternatives):
            at = f".calls[{index}]" + (f".or[{place - 1}]" if place else "")
            for reason in (*_invalid_gold(one, bench.contract), *lint_values(one, bench.contract)):
                invalid = True
                yield f"{at}{reason}"
        for reason in _underivable(call, index, case, stage, bench):
            yield f".calls[{index}].arguments.{reason}"
    yield from _impossible_order(case, stage, bench.rules)
    if not invalid:
        yield from _unreachable_final(case, stage, bench)


def _unknown_tools(case: Case, contract: Contract) -> Iterator[str]:
    for at, name in _named_tools(case):
        if name not in contract.by_name:
            yield f"{at}: unknown tool {name!r} (the contract has {', '.join(contract.by_name)})"


def _named_tools(case: Case) -> Iterator[tuple[str, str]]:
    yield from (("tools", name) for name in case.tools or ())
    yield from (("turns.tools", name) for turn in case.turns for name in turn.tools)
    yield from (
        ("messages.tool_calls", call["name"]) for m in case.messages for call in m.get("tool_calls", ())
    )
    yield from (("policy.permitted", name) for name in case.policy.permitted or ())
    yield from (("policy.confirmed", name) for name in case.policy.confirmed)
    yield from (("policy.done", done.tool) for done in case.policy.done)
    for stage in moments(case):
        yield from ((f"{stage.at}.calls", name) for call in stage.expect.calls for name in call.tools)
        yield from ((f"{stage.at}.forbidden_calls", call.tool) for call in stage.expect.forbidden_calls)
        yield from ((f"{stage.at}.forbidden_tools", name) for name in stage.expect.forbidden_tools)
        if stage.expect.recovery:
            forbidden = stage.expect.recovery.forbidden_tools
            yield from ((f"{stage.at}.recovery.forbidden_tools", name) for name in forbidden)


def _unowned(case: Case, contract: Contract) -> Iterator[str]:
    arguments = {name for tool in contract.tools for name in tool.properties}
    for name in case.policy.owned:
        if name not in arguments:
            yield f"policy.owned: no tool has an argument {name!r}"


def _broken_history(case: Case) -> Iterator[str]:
    open_calls: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(case.messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                yield f"messages[{index}]: {message['tool_call_id']!r} answers no open call"
            else:
                open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            yield f"messages[{index}]: the call {open_calls[0]!r} before it has no result"
        open_calls = [call["id"] for call in message.get("tool_calls", ())]
        for identifier in open_calls:
            if identifier in seen:
                yield f"messages[{index}]: the call id {identifier!r} occurs twice"
            seen.add(identifier)
    if open_calls:
        yield f"messages: the call {open_calls[0]!r} has no result"
    if case.messages[-1]["role"] == "assistant":
        yield "messages: the last message must be the user's or a tool's"


def _contradictions(stage: Moment, case: Case, contract: Contract) -> Iterator[str]:
    expect = stage.expect
    offered = contract.offered(case.offered(contract.by_name, stage.turn))
    names = {tool.name for tool in offered}
    kinds = " or ".join(expect.kinds)
    if expect.calls and "tool_call" not in expect.kinds:
        yield f".calls: a call is expected, but the kind is {kinds}"
    if expect.must_not_call and (expect.calls or "tool_call" in expect.kinds):
        yield ".must_not_call: contradicts the expected call"
    for call in (one for entry in expect.calls for one in entry.alternatives):
        if call.tool in expect.forbidden_tools:
            yield f".forbidden_tools: {call.tool} is expected and forbidden"
        if call.tool not in names:
            yield f".calls: {call.tool} is expected, but not on offer in this case"
        for index, other in enumerate(expect.forbidden_calls):
            if other.tool == call.tool and part_of(other, call.arguments):
                yield f".forbidden_calls[{index}]: {call.tool} is expected and forbidden"
    if expect.missing_fields and "clarification" not in expect.kinds:
        yield f".missing_fields: nothing is asked for when the kind is {kinds}"
    arguments = {name for tool in offered for name in tool.properties}
    for name in expect.missing_fields:
        if name not in arguments:
            yield f".missing_fields: no tool on offer has an argument {name!r}"
        elif not any(tool.ask_words.get(name, {}).get(case.lang) for tool in offered):
            yield (
                f".missing_fields: no tool on offer has ask_words of {name!r} in {case.lang!r}: "
                "write how it is asked for, or a question for it is not recognised"
            )
    if expect.parallel == "required" and len(expect.calls) < 2:
        yield f".parallel: required, but {len(expect.calls) or 'no'} call is expected"


def _invalid_gold(call: ExpectedCall, contract: Contract) -> Iterator[str]:
    tool = contract.by_name[call.tool]
    for issue in tool.issues(dict(call.arguments)):
        yield f".arguments: violates the contract at {issue.path}: {issue.code}, expected {issue.expected}"
    for path, values in call.accept.items():
        name = first_name(path)
        if name not in call.arguments:
            yield f".accept: {path!r} is not an expected argument"
            continue
        for value in values:
            for issue in tool.issues(put(call.arguments, path, value)):
                if issue.keys[:1] == (name,):
                    yield f".accept.{path}: {value!r} violates the contract: {issue.code}"
    for path in call.optional:
        if first_name(path) not in call.arguments:
            yield f".optional: {path!r} is not an expected argument"
        elif path in tool.required:
            yield f".optional: {path!r} is required by the contract"


def _underivable(call: ExpectedCall, index: int, case: Case, stage: Moment, bench: Ground) -> Iterator[str]:
    others = (
        stage.calls[:index]
        if stage.expect.order == "strict"
        else stage.calls[:index] + stage.calls[index + 1 :]
    )
    sources = bench.sources(case, stage.texts, [*stage.made, *others])
    for path, value in ungrounded(bench.contract.by_name[call.tool], call.arguments, sources):
        if call.leaves_open(first_name(path)):
            continue
        yield (
            f"{path}: {value!r} cannot be derived from the messages, the context, a tool result, "
            "a declared synonym or the schema"
        )


def _impossible_order(case: Case, stage: Moment, rules: Rules) -> Iterator[str]:
    calls = stage.calls
    if not calls:
        return
    done = [one.tool for one in case.policy.done]
    before = [*done, *(tool for tool, _ in stage.made)]
    last = stage.made[-1][0] if stage.made else "START"
    names = [tool for tool, _ in calls]
    orders = [names] if stage.expect.order == "strict" else islice(permutations(names), MAX_ORDERS)
    faults = [next(_order_faults(order, before, last, rules, case.brought), None) for order in orders]
    if all(faults):
        yield f".calls: {faults[0]}"
    if stage.expect.parallel == "required":
        for tool in names:
            waits_for = {*rules.needed(tool), *_result_sources(tool, rules)}
            for other in waits_for & set(names) - {tool}:
                yield f".parallel: required, but rules.json lets {tool} run only after a result of {other}"
    written = Counter(canonical_json([tool, dict(arguments)]) for tool, arguments in calls)
    for spelling, times in written.items():
        tool = json.loads(spelling)[0]
        allowed = rules.polling(tool).max
        if times > allowed:
            yield f".calls: the same call of {tool} is expected {times} times, rules.json allows {allowed}"


def _order_faults(
    names: Sequence[str], before: Sequence[str], last: str, rules: Rules, brought: Sequence[str]
) -> Iterator[str]:
    for index, name in enumerate(names):
        for needed in rules.needed(name):
            if needed not in (*before, *names[:index]):
                yield f"{name} is expected before {needed}, which rules.json requires first"
    for previous, following in pairwise([last, *names]):
        allowed = rules.transitions.get(previous)
        if allowed is not None and following not in (*allowed, *brought):
            yield f"{following} may not follow {previous} by rules.json"


def _result_sources(tool: str, rules: Rules) -> set[str]:
    return {source.tool for source in rules.depends_on_result.get(tool, {}).values()}


def _unreachable_final(case: Case, stage: Moment, bench: Ground) -> Iterator[str]:
    calls = [*stage.made, *stage.calls]
    results = [bench.results(call, case.lang) for call in calls]
    for call, found in zip(calls, results, strict=True):
        if found and found[0].code == "NOT_SCRIPTED":
            yield f": no executor rule answers {call[0]}({json.dumps(dict(call[1]), ensure_ascii=False)})"
            return
    if not calls or None in results:
        return
    sources = bench.sources(case, stage.texts, calls)
    for key in ("facts", "answers"):
        for index, wordings in enumerate(getattr(stage.expect.final, key, ())):
            if not any(map(sources.states, wordings)):
                yield f".final.{key}[{index}]: no tool result or message can produce any of {list(wordings)}"
    if stage.expect.recovery and not any(result.is_error for found in results for result in found or ()):
        yield ".recovery: no result of these calls is an error"
