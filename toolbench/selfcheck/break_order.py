"""Breaking the order of steps: too early, too often, together, in spite of what came back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolbench.domain.contract import ToolSpec
from toolbench.domain.record import CallRecord
from toolbench.domain.rules import Rules
from toolbench.judging.order import is_empty, values_at
from toolbench.selfcheck.breaking import LOOP_LIMIT, Breakage, Site, Workpiece, named
from toolbench.selfcheck.oracle import Scene
from toolbench.selfcheck.rehearse import Move, Proposal


def exchanged_steps(work: Workpiece) -> Iterator[Breakage]:
    """Two neighbouring steps of a fixed sequence in each other's place."""
    for scene in work.performance.scenes:
        if scene.expect.order != "strict":
            continue
        calls = scene.calls
        for index in range(len(calls) - 1):
            if calls[index].key == calls[index + 1].key:
                continue
            swapped = [*calls[:index], calls[index + 1], calls[index], *calls[index + 2 :]]
            script = work.with_turns(scene, [(call,) for call in swapped])
            what = f"{calls[index + 1].tool} before {calls[index].tool}"
            yield Breakage("steps_exchanged", named("wrong_order"), script, what)


def needed_steps(work: Workpiece) -> Iterator[Breakage]:
    """A step without those it needs, and together with them."""
    for site in work.sites:
        needed = _rules(work).needed(site.tool.name)
        earlier = site.scene.results[: len(site.scene.results) - len(site.scene.calls)]
        done = {record.tool for record in earlier if record.succeeded}
        before = [call.tool for call in _before(site)]
        due = [tool for tool in needed if tool not in done and tool in before]
        if due:
            yield from _left_out(work, site, needed, due, done)
            turns = _together(site, due)
            what = f"{site.tool.name} together with {', '.join(due)}"
            yield Breakage(
                "together_with_its_source",
                named("race_before_result"),
                work.with_turns(site.scene, turns),
                what,
            )


def _left_out(
    work: Workpiece, site: Site, needed: Sequence[str], due: Sequence[str], done: set[str]
) -> Iterator[Breakage]:
    """The needed steps left out: all of them, and each alone."""
    for absent in dict.fromkeys([tuple(due), *((tool,) for tool in due)]):
        kept = [call for call in site.scene.calls if call.tool not in absent]
        missing = [tool for tool in needed if tool not in done and tool not in {c.tool for c in kept}]
        # A step that itself needs an absent one fails or is early as well, which does not change this one.
        code = "skipped_step" if len(missing) < len(needed) else "forbidden_early_call"
        script = work.with_turns(site.scene, [(call,) for call in kept])
        what = f"{site.tool.name} without {', '.join(absent)}"
        yield Breakage("needed_step_left_out", named(code, "missing_call"), script, what)


def _before(site: Site) -> list[Proposal]:
    earlier = [call for turn in site.scene.turns[: site.turn] for call in turn]
    return [*earlier, *site.scene.turns[site.turn][: site.position]]


def _together(site: Site, due: Sequence[str]) -> list[list[Proposal]]:
    calls = list(site.scene.calls)
    first = next(index for index, call in enumerate(calls) if call.tool in due)
    last = calls.index(site.call)
    return [
        *([call] for call in calls[:first]),
        calls[first : last + 1],
        *([call] for call in calls[last + 1 :]),
    ]


def transitions(work: Workpiece) -> Iterator[Breakage]:
    """A step that may not follow what came before it."""
    allowed = _rules(work).transitions
    for scene in work.performance.scenes:
        if not allowed or not work.fits(scene):
            continue
        made = [*(record.tool for record in scene.results)]
        following = allowed.get(made[-1] if made else "START")
        for tool in work.offered:
            call = work.donor(tool)
            free = not _rules(work).needed(tool.name)
            if following is not None and tool.name not in following and call is not None and free:
                script = work.with_inserted(scene, call)
                yield Breakage("forbidden_transition", named("forbidden_early_call"), script, tool.name)


def repetitions(work: Workpiece) -> Iterator[Breakage]:
    """The same call once more than allowed, and on and on."""
    for scene in work.performance.scenes:
        # A call of the frozen history counts: doing it again changes nothing.
        last = scene.calls[-1] if scene.calls else _frozen_call(work, scene)
        if last is None:
            continue
        limit = _rules(work).polling(last.tool).max
        codes = {"repeated_call"}
        if not scene.calls:
            codes.add("unsafe_call" if _writes(work, last) else "unexpected_call")
        if _succeeded_write(work, scene, last):
            codes.add("duplicate_operation")
        if work.fits(scene, limit):
            script = work.with_turns(scene, [*scene.turns, *[(last,)] * limit])
            yield Breakage("same_call_again", frozenset(codes), script, last.tool)
        if limit < LOOP_LIMIT:
            moves = [*scene.moves[:-1], *[Move(calls=(last,))] * (LOOP_LIMIT + 1)]
            script = work.performance.script_with(scene.index, moves)
            endless = named("repeated_call", "loop_limit")
            yield Breakage("endless_repetition", endless, script, last.tool)


def after_errors(work: Workpiece) -> Iterator[Breakage]:
    """A step that an error, or the case, forbids from then on."""
    stops = _rules(work).stop_after_error
    for scene in work.performance.scenes:
        failed = [record for record in scene.own if _code(record)]
        for record in failed if work.fits(scene) else ():
            stopped = set(stops.get(_code(record), ()))
            if scene.expect.recovery and record is scene.own[-1]:
                stopped |= set(scene.expect.recovery.forbidden_tools)
            for tool in work.offered:
                call = work.donor(tool) if tool.name in stopped else None
                if call is not None:
                    script = work.with_inserted(scene, call)
                    what = f"{tool.name} after {_code(record)}"
                    yield Breakage("step_after_error", named("wrong_branch_after_error"), script, what)


def after_results(work: Workpiece) -> Iterator[Breakage]:
    """A step that an empty result, or another value than needed, forbids."""
    for scene in work.performance.scenes:
        for tool in work.offered if work.fits(scene) else ():
            call = work.donor(tool)
            code = _forbidden_by_result(work, scene, tool)
            if call is not None and code is not None:
                script = work.with_inserted(scene, call)
                yield Breakage("step_in_spite_of_result", named(code), script, tool.name)


def _forbidden_by_result(work: Workpiece, scene: Scene, tool: ToolSpec) -> str | None:
    succeeded = [record for record in scene.results if record.succeeded and record.result]
    for source, stopped in _rules(work).stop_after_empty.items():
        last = [record.result.value for record in succeeded if record.tool == source and record.result]
        if tool.name in stopped and last and is_empty(last[-1]):
            return "call_after_empty_result"
    for rule in _rules(work).unless.get(tool.name, ()):
        found = [
            value
            for record in succeeded
            if record.tool == rule.tool and record.result
            for value in values_at(record.result.value, rule.path)
        ]
        if found and rule.equals not in found:
            return "wrong_branch_after_error"
    return None


def wrong_sources(work: Workpiece) -> Iterator[Breakage]:
    """A value that must come out of an earlier result and does not."""
    for site in work.sites:
        for name in _rules(work).depends_on_result.get(site.tool.name, {}):
            shown = work.read_before(site.scene)
            others = work.donors.others(site.tool, site.call.arguments, name)
            other = next((value for value in others if str(value).lower() not in shown), None)
            if other is not None and name in site.call.arguments:
                call = Proposal(site.tool.name, {**site.call.arguments, name: other})
                what = f"{site.tool.name}.{name}={other!r}"
                yield Breakage(
                    "value_from_nowhere", named("ungrounded_argument"), work.with_call(site, call), what
                )


def _rules(work: Workpiece) -> Rules:
    return work.performance.suite.rules


def _code(record: CallRecord) -> str:
    return (record.result.code or "") if record.result and record.result.is_error else ""


def _frozen_call(work: Workpiece, scene: Scene) -> Proposal | None:
    if scene.index or not work.performance.frozen:
        return None
    record = work.performance.frozen[-1]
    return Proposal(record.tool, record.arguments or {})


def _writes(work: Workpiece, call: Proposal) -> bool:
    return work.performance.suite.contract.by_name[call.tool].effect == "write"


def _succeeded_write(work: Workpiece, scene: Scene, call: Proposal) -> bool:
    key = call.key
    return _writes(work, call) and any(
        record.succeeded and Proposal(record.tool, record.arguments or {}).key == key
        for record in scene.results
    )
