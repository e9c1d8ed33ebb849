"""Breakages of the outcome: what must not be called or written, and what must be there in the end."""

from __future__ import annotations

from collections.abc import Iterator

from toolbench.judging.values import fits_object
from toolbench.selfcheck.breaking import Breakage, Workpiece, named
from toolbench.selfcheck.rehearse import Proposal


def forbidden_calls(work: Workpiece) -> Iterator[Breakage]:
    """Make a call that the case forbids by its arguments."""
    tools = work.performance.suite.contract.by_name
    for scene in work.performance.scenes:
        for barred in scene.expect.forbidden_calls:
            call = Proposal(barred.tool, dict(barred.arguments))
            if work.fits(scene) and not tools[barred.tool].issues(dict(barred.arguments)):
                script = work.with_inserted(scene, call)
                yield Breakage("forbidden_call", named("forbidden_call"), script, barred.tool)


def other_fields(work: Workpiece) -> Iterator[Breakage]:
    """Write another value than the one that has to be there in the end."""
    state, tools = work.performance.case.end_state, work.performance.suite.contract.by_name
    for scene in work.performance.scenes if state else ():
        for turn, calls in enumerate(scene.turns):
            for place, call in enumerate(calls):
                due = [one for one in state.written if one.object == tools[call.tool].leaves] if state else []
                for name in call.arguments if len(due) == 1 else ():
                    others = work.donors.others(tools[call.tool], call.arguments, name)
                    changed = ({**call.arguments, name: value} for value in others)
                    wrong = next((one for one in changed if not fits_object(due[0], one)), None)
                    if wrong is not None:
                        turns = [list(one) for one in scene.turns]
                        turns[turn][place] = Proposal(call.tool, wrong)
                        script = work.with_turns(scene, turns)
                        yield Breakage("other_field_written", named("wrong_write"), script, name)


def end_state(work: Workpiece) -> Iterator[Breakage]:
    """Leave out a write that is due, and make one that is not."""
    state, tools = work.performance.case.end_state, work.performance.suite.contract.by_name
    if state is None:
        return
    kinds = {expected.object for expected in state.written}
    for scene in work.performance.scenes:
        kept = [[call for call in calls if tools[call.tool].leaves not in kinds] for calls in scene.turns]
        if kinds and len(work.performance.scenes) == 1 and kept != [list(calls) for calls in scene.turns]:
            script = work.with_turns(scene, kept)
            yield Breakage("write_left_out", named("missing_write"), script, ", ".join(sorted(kinds)))
        for tool in work.offered if state.nothing_else and work.fits(scene) else ():
            donor = work.donor(tool) if tool.effect == "write" else None
            if donor is not None:
                script = work.with_inserted(scene, donor)
                yield Breakage("one_write_more", named("forbidden_write"), script, tool.name)
