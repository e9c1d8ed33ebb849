"""Breaking what a player decides to do, and which tools it takes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from toolbench.selfcheck.breaking import Breakage, Site, Workpiece, named
from toolbench.selfcheck.oracle import Scene, ask_words
from toolbench.selfcheck.rehearse import Move, Proposal

QUESTION: Mapping[str, str] = {"ru": "Мне продолжать?", "en": "Shall I go on?"}
OFF_TOPIC: Mapping[str, str] = {"ru": "А какая у вас погода?", "en": "And what is your favourite colour?"}
STATEMENT: Mapping[str, str] = {"ru": "Спасибо за ожидание.", "en": "Thank you for waiting."}
NO: Mapping[str, str] = {"ru": "Я не буду этого делать.", "en": "I am not going to do that."}


def instead_of_a_call(work: Workpiece) -> Iterator[Breakage]:
    """A question, a statement, a refusal, nothing, or a call in the text, where a call is due."""
    for scene in work.performance.scenes:
        if not scene.turns or not scene.expect.call_required:
            continue
        what = scene.calls[0].tool
        for kind, text in (("question", QUESTION), ("statement", STATEMENT)):
            script = work.with_first(scene, Move(text=text[work.lang]))
            yield Breakage(f"{kind}_instead_of_call", named("missed_call"), script, what)
        script = work.with_first(scene, Move(refusal=NO[work.lang]))
        yield Breakage("refusal_instead_of_call", named("refused"), script, what)
        yield Breakage("empty_reply", named("no_decision"), work.with_first(scene, Move()), what)
        claimed = work.with_first(scene, Move(finish="tool_calls", text=STATEMENT[work.lang]))
        yield Breakage("finish_without_call", named("no_decision"), claimed, what)


def leaked(work: Workpiece) -> Iterator[Breakage]:
    """A call written into the text instead of made, at any step, and beside an answer that needs none."""
    for site in work.sites:
        before = site.scene.moves[: site.turn]
        for kind, text in _leaks(site.call).items():
            script = work.performance.script_with(site.scene.index, (*before, Move(text=text)))
            yield Breakage(kind, named("leaked_tool_call"), script, f"turn {site.turn}")
    for scene in work.performance.scenes:
        donor = next((call for tool in work.offered if (call := work.donor(tool))), None)
        if not scene.turns and donor is not None:
            text = f"{scene.moves[-1].text} {_leaks(donor)['leaked_markup']}"
            yield Breakage(
                "leaked_beside_text", named("leaked_tool_call"), work.with_answer(scene, text), donor.tool
            )


def _leaks(call: Proposal) -> dict[str, str]:
    body = json.dumps({"name": call.tool, "arguments": dict(call.arguments)}, ensure_ascii=False)
    return {
        "leaked_markup": f"<tool_call>\n{body}\n</tool_call>",
        "leaked_json": f"```json\n{body}\n```",
        "leaked_function_tag": f"<function={call.tool}>{call.text}</function>",
    }


def asked_and_called(work: Workpiece) -> Iterator[Breakage]:
    """A question to the user beside a call, at every step of a chain."""
    for scene in work.performance.scenes:
        for turn in range(len(scene.turns)):
            moves = list(scene.moves)
            moves[turn] = replace(moves[turn], text=QUESTION[work.lang])
            script = work.performance.script_with(scene.index, moves)
            yield Breakage("asked_and_called", named("text_and_call"), script, f"turn {turn}")


def instead_of_a_text(work: Workpiece) -> Iterator[Breakage]:
    """A call where a question or an answer is due; a statement, an off-topic or half a question."""
    for scene in work.performance.scenes:
        if scene.turns or scene.expect.call_allowed:
            continue
        for tool in work.offered:
            call = work.donor(tool)
            if call is not None:
                code = "unsafe_call" if tool.effect == "write" else "unexpected_call"
                yield Breakage(
                    "call_instead_of_text", named(code), work.with_inserted(scene, call), tool.name
                )
        yield from _questions(work, scene)


def _questions(work: Workpiece, scene: Scene) -> Iterator[Breakage]:
    expect = scene.expect
    if expect.kinds == ("clarification",):
        missing = named("missing_clarification")
        script = work.with_answer(scene, STATEMENT[work.lang])
        yield Breakage("statement_instead_of_question", missing, script, ", ".join(expect.missing_fields))
        if expect.missing_fields:
            script = work.with_answer(scene, OFF_TOPIC[work.lang])
            yield Breakage("question_about_something_else", missing, script, OFF_TOPIC[work.lang])
        for name in expect.missing_fields if len(expect.missing_fields) > 1 else ():
            words = ask_words(work.performance.suite, work.performance.case, name)
            text = " ".join(p.text for p in scene.answer if p.kind != "field" or list(p.options) != words)
            if not any(word in text.lower() for word in words):
                script = work.with_answer(scene, text)
                yield Breakage("half_a_question", missing, script, f"not about {name}")
    elif expect.kinds == ("refusal",):
        script = work.with_answer(scene, STATEMENT[work.lang])
        yield Breakage("statement_instead_of_refusal", named("missing_refusal"), script, STATEMENT[work.lang])
    if expect.contains_any and "refusal" not in expect.kinds:
        text = OFF_TOPIC[work.lang] if expect.kinds == ("clarification",) else STATEMENT[work.lang]
        code = (
            "missing_clarification" if expect.missing_fields and "text" not in expect.kinds else "wrong_text"
        )
        yield Breakage("other_text", named(code), work.with_answer(scene, text), expect.contains_any[0])


def selection(work: Workpiece) -> Iterator[Breakage]:
    """Another tool, one that does not exist or is not on offer, one more, one less."""
    for site in work.sites:
        expected = {name for call in site.scene.expect.calls for name in call.tools}
        yield from _unknown(work, site)
        for tool in work.offered:
            donor = work.donor(tool)
            if tool.name in expected or donor is None:
                continue
            forbidden = tool.name in site.scene.expect.forbidden_tools
            code = "forbidden_tool" if forbidden else "wrong_tool"
            yield Breakage("other_tool", named(code), work.with_call(site, donor), tool.name)
        if len(site.scene.calls) > 1:
            script = work.with_call(site, None)
            yield Breakage("call_left_out", named("missing_call"), script, site.tool.name)
    for scene in work.performance.scenes:
        yield from _one_more(work, scene)


def _unknown(work: Workpiece, site: Site) -> Iterator[Breakage]:
    invented = replace(site.call, tool=f"{site.tool.name}_now")
    yield Breakage("tool_invented", named("unknown_tool"), work.with_call(site, invented), invented.tool)
    offered = {tool.name for tool in work.offered}
    for name in work.performance.suite.contract.by_name:
        if name not in offered:
            script = work.with_call(site, replace(site.call, tool=name))
            yield Breakage("tool_not_on_offer", named("unknown_tool"), script, name)


def _one_more(work: Workpiece, scene: Scene) -> Iterator[Breakage]:
    # Where only the end state counts, the path to it is free.
    if not scene.turns or not scene.expect.calls or not work.fits(scene):
        return
    expected = {name for call in scene.expect.calls for name in call.tools}
    several = {name for call in scene.expect.calls for name in call.tools if call.at_most != call.at_least}
    for tool in work.offered:
        donor = work.donor(tool)
        if donor is not None and tool.name not in several:
            forbidden = tool.name in scene.expect.forbidden_tools
            kind = "one_more_of_the_same_tool" if tool.name in expected else "one_more_tool"
            code = "forbidden_tool" if forbidden else "extra_call"
            yield Breakage(kind, named(code), work.with_inserted(scene, donor), tool.name)


def parallel(work: Workpiece) -> Iterator[Breakage]:
    """Together what must be apart, and apart what must be together."""
    for scene in work.performance.scenes:
        policy = scene.expect.parallel or work.performance.suite.rules.parallel
        violated = named("parallel_policy")
        if len(scene.calls) < 2:
            continue
        if policy == "forbidden":
            script = work.with_turns(scene, (scene.calls,))
            yield Breakage("all_at_once", violated, script, f"{len(scene.calls)} calls")
        elif policy == "required":
            script = work.with_turns(scene, [(call,) for call in scene.calls])
            yield Breakage("one_after_another", violated, script, f"{len(scene.calls)} calls")
