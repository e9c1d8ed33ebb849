"""Breaking what a user may have done: unconfirmed, foreign, forbidden, done already, too much."""

from __future__ import annotations

from collections.abc import Iterator

from toolbench.domain.canonical import JSON, canonical_json
from toolbench.domain.contract import ToolSpec
from toolbench.selfcheck.breaking import Breakage, Site, Workpiece, named
from toolbench.selfcheck.oracle import Scene
from toolbench.selfcheck.rehearse import Proposal


def unconfirmed(work: Workpiece) -> Iterator[Breakage]:
    """A write in the first answer that the user had to confirm."""
    scene, case = work.performance.scenes[0], work.performance.case
    for tool in work.offered:
        needed = work.performance.suite.rules.confirms(tool) and tool.effect == "write"
        if not needed or tool.name in case.policy.confirmed or not work.fits(scene):
            continue
        later = (call for call in work.performance.calls if call.tool == tool.name)
        call = next(later, None) or work.donor(tool)
        if call is not None:
            script = work.with_inserted(scene, call)
            yield Breakage("write_before_confirmation", named("unconfirmed_write"), script, tool.name)


def not_permitted(work: Workpiece) -> Iterator[Breakage]:
    """A write that this user may not run."""
    permitted = work.performance.case.policy.permitted
    if permitted is None:
        return
    for scene in work.performance.scenes:
        for tool in work.offered:
            call = work.donor(tool)
            forbidden = tool.effect == "write" and tool.name not in permitted
            if forbidden and call is not None and work.fits(scene):
                script = work.with_inserted(scene, call)
                yield Breakage("write_without_permission", named("not_permitted"), script, tool.name)


def done_already(work: Workpiece) -> Iterator[Breakage]:
    """An operation that had been completed before the conversation."""
    by_name = {tool.name: tool for tool in work.offered}
    scene = work.performance.scenes[0]
    for done in work.performance.case.policy.done:
        tool = by_name.get(done.tool)
        if tool is not None and tool.effect == "write" and work.fits(scene):
            script = work.with_inserted(scene, Proposal(done.tool, done.arguments))
            yield Breakage("done_once_more", named("duplicate_operation"), script, tool.name)


def foreign(work: Workpiece) -> Iterator[Breakage]:
    """Somebody else's object, in place of the user's own or out of the blue."""
    for tool, scene, call, site in _owned_calls(work):
        owned = work.performance.case.policy.owned
        for name in tool.ownership:
            if name not in owned or name not in call.arguments:
                continue
            mine = {canonical_json(value) for value in owned[name]}
            others = work.donors.others(tool, call.arguments, name)
            other = next((value for value in others if canonical_json(value) not in mine), None)
            if other is not None:
                yield _with_value(
                    work, scene, site, call, name, other, "somebody_elses_object", "foreign_object"
                )


def above_limits(work: Workpiece) -> Iterator[Breakage]:
    """More than a tool may be used for."""
    for tool, scene, call, site in _owned_calls(work):
        for name, limit in tool.limits.items():
            candidates = (limit + 1, int(limit) + 1, limit * 1.5, int(limit * 2) + 1)
            value = next(
                (v for v in candidates if v > limit and not tool.issues({**call.arguments, name: v})), None
            )
            if value is not None:
                yield _with_value(work, scene, site, call, name, value, "above_the_limit", "limit_exceeded")


def _owned_calls(work: Workpiece) -> Iterator[tuple[ToolSpec, Scene, Proposal, Site | None]]:
    """Yield expected calls and, where none is expected, other valid calls of each tool."""
    for site in work.sites:
        yield site.tool, site.scene, site.call, site
    for scene in work.performance.scenes:
        for tool in work.offered if not scene.turns else ():
            call = work.donor(tool)
            if call is not None:
                yield tool, scene, call, None


def _with_value(
    work: Workpiece,
    scene: Scene,
    site: Site | None,
    call: Proposal,
    name: str,
    value: JSON,
    kind: str,
    code: str,
) -> Breakage:
    changed = Proposal(call.tool, {**call.arguments, name: value})
    script = work.with_call(site, changed) if site else work.with_inserted(scene, changed)
    return Breakage(kind, named(code), script, f"{call.tool}.{name}={value!r}")
