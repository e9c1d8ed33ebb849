"""Tools of other suites that fill an offer up, chosen before the first request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolbench.domain.condition import Condition
from toolbench.domain.config import Config
from toolbench.domain.contract import Contract
from toolbench.domain.suite import Suite, contract_path, known_suites
from toolbench.errors import ConfigError


def crowded(config: Config, suite: Suite) -> Suite:
    """Return a suite with as many tools of other suites beside it as the conditions ask for.

    They are taken in the order of the suites that can be found by name, those of the configuration's folder
    first, so that a larger number on offer holds the smaller one.

    Raises
    ------
    ConfigError
        When a case offers more tools of its own than a condition allows, or there are not enough others.
    """
    needed = max((_needed(condition, suite) for condition in config.conditions), default=0)
    if not needed:
        return suite
    found = list(_others(config, suite))
    if len(found) < needed:
        raise ConfigError(
            f"conditions: tools_on_offer: {suite.name} needs {needed} tools of other suites and "
            f"{len(found)} are there; lower the number, or bring in more (toolbench import)"
        )
    return suite.beside(found[:needed])


def _needed(condition: Condition, suite: Suite) -> int:
    """Return how many tools of other suites a condition shows at most beside a case of the suite."""
    number = condition.tools_on_offer
    if number is None or condition.tools == "off":
        return 0
    own = {case.id: condition.shown(suite.contract, case) for case in suite.cases if condition.admits(case)}
    for case_id, tools in own.items():
        if len(tools) > number:
            raise ConfigError(
                f"conditions: {condition.name}: tools_on_offer is {number}, and the case {case_id} of "
                f"{suite.name} has {len(tools)} tools of its own"
            )
    return max((number - len(tools) for tools in own.values()), default=0)


def _others(config: Config, suite: Suite) -> Iterator[Mapping[str, Any]]:
    """Yield entries of tools that can stand beside a suite's own: other names, in all its languages."""
    worded: Sequence[Mapping[str, Any]] = [
        entry for o in suite.overlays.values() for entry in o.tools.values()
    ]
    taken = {*suite.contract.by_name, *(str(entry.get("name")) for entry in worded)}
    for name in known_suites(config.root):
        if name == suite.name:
            continue
        contract = Contract.load(contract_path(config.root, name))
        for tool, entry in zip(contract.tools, contract.source["tools"], strict=True):
            told = "" in tool.description or set(suite.langs) <= set(tool.description)
            if tool.name not in taken and told:
                taken.add(tool.name)
                yield entry
