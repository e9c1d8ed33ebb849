"""The workbench without its widgets: what is chosen, what is edited, and the run. Widgets only bind this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from toolbench.domain.config import Config
from toolbench.domain.suite import Suite, find_suite
from toolbench.errors import InputError
from toolbench.showing import html, sections
from toolbench.showing.html import Page
from toolbench.showing.view import RunView
from toolbench.workbench import case_grid, choosing, comparing, saving
from toolbench.workbench.choosing import Picks, Plan
from toolbench.workbench.edits import Base, Place, Wording
from toolbench.workbench.history import Trial
from toolbench.workbench.running import Session, status


@dataclass
class Bench:
    """State of one workbench.

    Attributes
    ----------
    config
        Models, conditions and limits to choose from.
    choice
        What is to be run.
    session
        The run that goes on, or the last one.
    """

    config: Config
    choice: Picks
    session: Session
    _suites: dict[str, Suite] = field(default_factory=dict)
    _drafts: dict[tuple[str, str, Base], Wording] = field(default_factory=dict)
    _base: Base = field(default_factory=Base)

    @property
    def suite(self) -> Suite:
        """The chosen suite as it is on disk."""
        name = self.choice.suite
        if name not in self._suites:
            self._suites[name] = find_suite(self.config.root, name)
        return self._suites[name]

    @property
    def draft(self) -> Wording:
        """The texts being edited; each suite, language and starting version keeps its own."""
        key = self.choice.suite, self.choice.lang, self._base
        if key not in self._drafts:
            self._drafts[key] = Wording(self.suite, self.choice.lang, self._base)
        return self._drafts[key]

    def choose(self, **changes: object) -> None:
        """Change the choice; another suite or language lets go of cases that are not in it."""
        choice = replace(self.choice, **changes)  # type: ignore[arg-type]
        if choice.suite != self.choice.suite:
            self._base = Base()
        self.choice = choice
        langs = self.suite.langs
        if choice.lang not in langs:
            choice = replace(choice, lang=langs[0])
        known = {case.id for case in self.suite.cases if case.lang == choice.lang}
        self.choice = replace(choice, cases=tuple(case for case in choice.cases if case in known))

    def reload(self) -> None:
        """Read the chosen suite again: its files have changed."""
        self._suites.pop(self.choice.suite, None)
        self.choose()

    def start_from(self, base: Base) -> None:
        """Edit another committed version."""
        self.suite.overlay(base.descriptions)
        self.suite.prompt(self.choice.lang, base.prompt)
        self._base = base

    def bases(self) -> tuple[list[str | None], list[str | None]]:
        """Return the description versions and the prompt versions that editing can start from."""
        lang = f"{self.choice.lang}."
        prompts = [key.removeprefix(lang) for key in self.suite.prompts if key.startswith(lang)]
        return [None, *sorted(self.suite.overlays)], [None, *sorted(prompts)]

    def plan(self) -> Plan:
        """Return the run that the choice and the draft describe."""
        return choosing.plan(self.config, self.draft, self.choice)

    def save(self, name: str) -> list[Path]:
        """Save the draft as a new version and know it from now on as one to start from."""
        draft = self.draft
        written = saving.save(draft, self.config.root, name)
        self._suites.pop(self.choice.suite)
        draft.suite = self.suite
        return written

    def restore(self, trial: Trial) -> list[Place]:
        """Edit on from a wording that was tried; return its places that the suite no longer has.

        Raises
        ------
        InputError
            When the suite or the language is not there any more.
        """
        if trial.suite not in choosing.suite_names(self.config):
            raise InputError(f"there is no suite {trial.suite} here any more")
        self.choose(suite=trial.suite, lang=trial.lang)
        if self.choice.lang != trial.lang:
            raise InputError(f"suite {trial.suite} has no cases in {trial.lang!r} any more")
        self._base = Base()
        return self.draft.restore(trial.texts)

    def start(self) -> None:
        """Start the planned run; needs a running event loop.

        Raises
        ------
        InputError
            When something is missing from the plan, before anything is written.
        """
        self.session.start(self.plan())

    async def play(self) -> None:
        """Run the plan to its end, for notebooks without widgets and for scripts."""
        await self.session.start(self.plan())
        if self.session.state == "failed":
            raise InputError(str(self.session.problem))

    @property
    def attempts(self) -> pd.DataFrame | None:
        """Judged attempts of the run so far, with a ``player`` column."""
        return self.session.attempts

    @property
    def planned(self) -> pd.DataFrame | None:
        """Attempts the run is to make, with a ``player`` column."""
        live = self.session.live
        return live.view.named(live.view.scored.planned) if live else None

    def overview(self) -> Page:
        """Return what can be chosen and what is chosen."""
        cases = choosing.matching(self.suite, self.choice.lang)
        facts = {
            "suites": ", ".join(choosing.suite_names(self.config)),
            "players": ", ".join(choosing.players(self.config)),
            "conditions": ", ".join(choosing.conditions(self.config)),
            "chosen": f"{self.choice.suite} · {self.choice.lang} · {', '.join(self.choice.players)}",
            "cases": f"{len(self.choice.cases)} of {len(cases)}",
        }
        return html.table(pd.DataFrame({"": list(facts), "value": list(facts.values())}))

    def show(self) -> Page:
        """Return the last run of this workbench as a page: no widget is needed to see it."""
        folder, plan = self.session.folder, self.session.plan
        if folder is None or plan is None or self.attempts is None:
            return html.paragraph(status(self.session, None), "note")
        return html.paragraph(status(self.session, self.attempts)) + view(folder, plan.pairs)


def open_bench(
    config: str | Path,
    suite: str = "",
    lang: str = "",
    players: Sequence[str] = (),
    conditions: Sequence[str] = ("auto",),
    cases: Sequence[str] = (),
    output: str | Path = "runs",
) -> Bench:
    """Open a workbench on a configuration.

    Parameters
    ----------
    suite, lang
        The first of the configuration and of the suite where empty.
    players
        Names of models or baselines to begin with; all models of the configuration where empty, or the first
        embedded one.
    cases
        Ids of cases to begin with.
    output
        Folder in which every run gets a folder of its own.

    Raises
    ------
    InputError
        For a configuration or suite that cannot be used, or an unknown name.
    """
    loaded = Config.load(Path(config))
    names = choosing.suite_names(loaded)
    if not names:
        raise InputError(f"{config}: there is no suite in {loaded.root / 'contracts'}")
    chosen = tuple(players) or choosing.first_players(loaded)
    first = Picks(suite or names[0], lang, chosen, tuple(conditions), tuple(cases))
    bench = Bench(loaded, first, Session(Path(output)))
    bench.choose()
    if lang and bench.choice.lang != lang:
        raise InputError(f"suite {bench.suite.name}: no cases in {lang!r}; there are: {bench.suite.langs}")
    return bench


def view(run: str | Path, pairs: Sequence[tuple[str, str]] = (), only: str = "all") -> Page:
    """Return a run as the workbench shows it: effects of edited wordings, figures, heatmaps, attempts.

    Parameters
    ----------
    pairs
        Conditions to compare: committed wording, edited wording.
    only
        ``all``, ``failing`` or ``differing``: which cases the grid keeps.
    """
    seen = RunView(run)
    planned = seen.named(seen.scored.planned)
    pages = [html.paragraph(seen.incomplete, "warning")] if seen.incomplete else []
    pages += [comparing.effects(seen, pairs)] if pairs else []
    pages.append(case_grid.summary_page(seen.attempts, planned))
    pages.append(grid_page(case_grid.grid(seen.attempts, planned, only)))
    pages += [sections.heatmap(seen, arm) for arm in seen.arms]
    return html.join([*pages, case_grid.latest_page(seen.attempts)])


def grid_page(grid: case_grid.Grid) -> Page:
    """Return the grid as a table."""
    columns: Mapping[str, list[str]] = {
        "case": list(grid.cases),
        **{str(column): [grid.cells[case, column].text for case in grid.cases] for column in grid.columns},
    }
    return html.table(pd.DataFrame(columns), "Passed / scored by case", numbers=list(columns)[1:])
