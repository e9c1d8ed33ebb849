"""From tools of one's own to a workbench, in a notebook."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from toolbench.authoring import confirming
from toolbench.authoring.importing import (
    Material,
    draft_cases,
    from_functions,
    from_values,
    ground_of,
    read_source,
    write_suite,
)
from toolbench.domain.files import create_all
from toolbench.domain.suite import find_suite
from toolbench.workbench.bench import Bench, open_bench

if TYPE_CHECKING:
    from ipywidgets import VBox

Source = str | Sequence[Callable[..., Any]] | Iterable[Mapping[str, Any]]
CONFIG: Mapping[str, Any] = {
    "runs": [
        {
            "provider": "embedded",
            "model": "qwen2.5-coder-0.5b-instruct",
            "protocol": "chat_completions",
            "base_url": "embedded:",
        }
    ],
    "defaults": {"temperature": 0, "max_output_tokens": 200, "seed": 1},
    "repetitions": 1,
    "loop_limit": 2,
}
"""The configuration of a folder that has none: the embedded model and the baselines."""


@dataclass(frozen=True)
class OwnSuite:
    """A suite made of tools of one's own.

    Attributes
    ----------
    root, name
        The workspace, and the suite's name in it.
    remarks
        What was left out, changed or guessed, one line each.
    """

    root: Path
    name: str
    remarks: Sequence[str]

    @property
    def drafts(self) -> pd.DataFrame:
        """The drafts that wait: columns ``id``, ``class``, ``case`` (what is said and what is expected)."""
        waiting = confirming.drafts(self.root, self.name)
        rows = [(one.case["id"], one.case["class"], str(one).partition(": ")[2]) for one in waiting]
        return pd.DataFrame(rows, columns=["id", "class", "case"])

    def confirm(self, *ids: str) -> OwnSuite:
        """Confirm drafts by id, all of them where none is named: they are played and counted from then on.

        Raises
        ------
        SuiteError
            When an id is no draft's.
        """
        confirming.confirm(self.root, self.name, ids or None)
        return self

    def bench(self, **options: Any) -> Bench:
        """Return the workbench on it, the confirmed cases chosen; ``options`` as :func:`.open_bench` has."""
        confirmed = tuple(case.id for case in find_suite(self.root, self.name).cases if not case.draft)
        options = {"output": self.root / "runs", "cases": confirmed, **options}
        return open_bench(self.root / "config.json", self.name, **options)

    def panel(self, **options: Any) -> VBox:
        """Return the workbench as a widget, with the drafts to confirm or edit."""
        from toolbench.workbench import panel

        return panel(self.bench(**options))

    def _ipython_display_(self) -> None:
        from IPython.display import display

        for remark in self.remarks:
            print(remark)
        display(self.panel())  # type: ignore[no-untyped-call]


def suite_from(source: Source, name: str = "mine", lang: str = "en", into: str | Path = ".") -> OwnSuite:
    """Make a suite with ten drafted cases of functions, a list of tools or a source by name.

    In a notebook the result shows the workbench, with the drafts to confirm or edit: none of them is played
    or counted before. A folder without ``config.json`` gets one for the embedded model.

    Parameters
    ----------
    source
        Python functions (none is called), tools in the shape of any provider, or what ``new --from`` takes,
        for example ``"mcp:python server.py"``.
    name
        Of the suite; one that is there is never written to.
    into
        The workspace.

    Raises
    ------
    SuiteError
        When the source holds no tool, or the name is taken.
    """
    root = Path(into)
    material = _material(source)
    drafts, remarks = draft_cases(ground_of(material, f"suite {name}"), lang)
    made = replace(material, cases=drafts, remarks=(*material.remarks, *remarks))
    write_suite(root, name, made)
    if not (root / "config.json").exists():
        create_all({root / "config.json": json.dumps({**CONFIG, "suites": [name]}, indent=2) + "\n"})
    return OwnSuite(root, name, (*made.remarks, *made.guesses))


def _material(source: Source) -> Material:
    if isinstance(source, str):
        return read_source(source)
    listed = list(source)
    functions = [one for one in listed if callable(one)]
    if functions:
        return from_functions(functions, "functions of a notebook")
    return from_values([listed], "tools of a notebook")
