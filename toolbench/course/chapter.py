"""The chapter: what the cells of the course notebooks call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from toolbench.course import five_wires, layout, lesson_run, safety, solutions
from toolbench.course import quiz as self_test
from toolbench.course.description_exercise import check_description
from toolbench.course.dialogue import Asked, Dialogue, dialogue
from toolbench.course.drawing import loop_page
from toolbench.course.five_wires import Wires
from toolbench.course.loop_exercise import check_loop
from toolbench.course.note import free_path, note_text, write_note
from toolbench.course.players import Players, embedded_here, embedded_player
from toolbench.course.problems import checked_page
from toolbench.course.tool_exercise import check_tool
from toolbench.course.traps import spring, trap_page
from toolbench.course.words import Words, data
from toolbench.domain.config import Condition, public_url
from toolbench.domain.contract import Overlay
from toolbench.domain.from_function import tool_entry
from toolbench.domain.shipped import shipped
from toolbench.domain.suite import find_suite
from toolbench.experiments.run_source import Refusal, politely
from toolbench.showing import html
from toolbench.showing.html import Page
from toolbench.showing.progress import NotebookProgress
from toolbench.showing.view import RunView

MODES = ("auto", "none", "required")


class Chapter:
    """One student's way through the lesson.

    Parameters
    ----------
    lang
        ``ru`` or ``en``.
    model
        The config cell: ``provider``, ``model``, ``protocol``, ``base_url``, and ``api_key_env`` where a key
        is needed; any further field of a run in ``config.json``. ``base_url`` may be ``simulator:`` or
        ``embedded:``.
    embedded
        Let the embedded model play in the run as well, if its weights are on this machine.
    solved
        Check the model solutions instead of the student's answers.
    output
        Folder of runs and notes.

    Raises
    ------
    Refusal
        For a config cell that cannot be used; the notebook shows one line.
    """

    def __init__(
        self,
        lang: str,
        model: Mapping[str, Any],
        *,
        embedded: bool = True,
        solved: bool = False,
        output: str = "../runs/course",
    ) -> None:
        with politely():
            self.words = Words(lang)
            self.suite = find_suite(shipped(), "course")
            self._players = Players()
            self.model = self._players.read(model)
        self.solved = solved
        self.output = Path(output)
        self._embedded = embedded and embedded_here() and not self._players.embedded
        self._exercises: dict[str, bool] = {}
        self._answers: Mapping[str, str] = {}
        self._run: RunView | None = None

    def close(self) -> None:
        """Stop the servers of the lesson."""
        self._players.close()

    def about(self) -> Page:
        """Who plays, over which wire, and whether the key is there (never the key itself)."""
        words, model = self.words, self.model
        name = model.api_key_env
        key = words("about_no_key")
        if name and model.provider != "simulator":
            key = words("about_key_set" if os.environ.get(name) else "about_key_missing", name=name)
        plays = self._embedded or self._players.embedded
        facts = {
            "model": f"{model.provider} / {model.model}",
            "protocol": model.protocol,
            "address": public_url(model.base_url),
            "key": key,
            "embedded": words("about_embedded_here" if plays else "about_embedded_off"),
        }
        frame = pd.DataFrame({"": [words(f"about_{name}") for name in facts], " ": list(facts.values())})
        puppet = layout.box("note", words("about_puppet"), html.paragraph(words("about_puppet_why")))
        return html.table(frame) + (puppet if model.provider == "simulator" else html.EMPTY)

    def draw_loop(self) -> Page:
        """The loop as a picture."""
        return loop_page(self.words)

    def talk(self, scene: str, *, hints: bool = True) -> Dialogue:
        """Return a conversation with the lesson's model, to be stepped through."""
        return dialogue(self.suite, self.words, self.model, scene, hints=hints)

    def five_wires(self, scene: str) -> Wires:
        """Return the same question on five wires, each with a simulated provider."""
        return Wires(self.suite, self.words, self._players, scene)

    def tool_choices(self) -> Page:
        """What the choice among tools becomes on each wire."""
        return five_wires.choices_page(self.suite, self.words, self._players)

    async def forced(self, scene: str) -> Page:
        """What a simulated model does with a question under each tool choice."""
        model = self._players.simulated("sim-openai", "chat_completions", profile="openai")
        rows = []
        for mode in MODES:
            talk = dialogue(
                self.suite,
                self.words,
                model,
                scene,
                condition=Condition(mode, tool_choice=mode),  # type: ignore[arg-type]
            )
            asked = await talk.move()
            assert isinstance(asked, Asked), asked
            calls = [f"{call.name}({call.raw_arguments})" for call in asked.decision.calls]
            rows.append((mode, "; ".join(calls) or f"«{asked.decision.text}»"))
        columns = [self.words("column_mode"), self.words("column_did")]
        return html.table(pd.DataFrame(rows, columns=columns), self.words.of(data("scenes")[scene]))

    def errors(self) -> Page:
        """The same failures, bare and helpful."""
        return safety.errors_page(self.suite, self.words)

    def error_on_the_wire(self) -> Page:
        """One failure as each wire carries it."""
        failure = safety.first_failure(self.suite, self.words)
        return five_wires.failed_page(self.suite, self.words, self._players, failure)

    def calculator(self) -> Page:
        """What the calculator refuses."""
        return safety.calculator_page(self.words)

    def whitelist(self) -> Page:
        """Which calls never reach a tool."""
        return safety.whitelist_page(self.suite, self.words)

    async def endless(self) -> Page:
        """A model that never stops calling, stopped."""
        model = self._players.simulated("sim-course-endless", "chat_completions")
        return await dialogue(self.suite, self.words, model, "tokyo").play()

    def wordings(self) -> Page:
        """Good and bad descriptions of the same tools, side by side."""
        overlay, lang = self.suite.overlay("bad"), self.words.lang
        assert overlay is not None
        panels = []
        for kind, change in (("good", lambda tool: tool), ("bad", overlay.apply)):
            shown = [
                {
                    "name": tool.name,
                    "description": tool.described(lang),
                    "parameters": {name: schema["description"] for name, schema in tool.properties.items()},
                }
                for tool in map(change, self.suite.contract.tools)
            ]
            panels.append((self.words(kind), layout.json_page(shown)))
        return layout.columns(panels, 30)

    async def trap(self, name: str) -> Page:
        """Step into a provider's trap: the wrong request, the refusal, the right request."""
        with politely():
            return trap_page(name, await spring(name, self.suite, self.words, self._players), self.words)

    async def run(self) -> Page:
        """Play the lesson's scenarios and show the outcome of every player at a glance."""
        models = [self.model, *([embedded_player()] if self._embedded else [])]
        folder = free_path(self.output, f"run-{self.words.lang}")
        with politely():
            self._run = await lesson_run.play(self.suite, self.words.lang, models, folder, NotebookProgress())
        return lesson_run.overview_page(self._run, self.words)

    def results(self) -> Page:
        """Scenario → model → right? → which error."""
        return lesson_run.results_page(self._played(), self.words)

    def wording_effect(self) -> Page:
        """Good against bad descriptions in the same run."""
        return lesson_run.wording_page(self._played(), self.words)

    def contract(self, fn: Callable[..., Any]) -> Page:
        """The entry of a contract that a function becomes."""
        with politely():
            return layout.json_page(tool_entry(fn), cut=400)

    def check_tool(self, answer: object) -> Page:
        """Check the exercise about a tool and its contract."""
        return self._checked("tool", check_tool(solutions.convert_temperature if self.solved else answer))

    async def check_description(self, answer: object) -> Page:
        """Check the exercise about a bad description."""
        chosen = solutions.DESCRIPTIONS[self.words.lang] if self.solved else answer
        return self._checked("description", await check_description(chosen, self._choose))

    def check_loop(self, answer: object) -> Page:
        """Check the exercise about a broken loop."""
        return self._checked("loop", check_loop(solutions.run_loop if self.solved else answer))

    def quiz(self) -> Page:
        """The questions of the self-test."""
        return self_test.quiz_page(self.words)

    def check_quiz(self, answers: Mapping[str, str]) -> Page:
        """Check the letters of the self-test."""
        self._answers = self_test.solution() if self.solved else dict(answers)
        return self_test.checked_quiz(self._answers, self.words)

    def write_note(self, findings: Sequence[str]) -> Page:
        """Write the student's findings, results and progress into a numbered Markdown file."""
        run = self._run
        table = lesson_run.results_table(run, self.words) if run else None
        log = run.scored.log.path.as_posix() if run else ""
        text = note_text(self.words, self.model, findings, table, log, self._exercises, self._answers)
        with politely():
            path = write_note(self.output, text)
        return layout.box("good", self.words("note_written", path=path), layout.code(text))

    def _checked(self, exercise: str, problems: Sequence[Any]) -> Page:
        self._exercises[exercise] = not problems
        return checked_page(exercise, problems, self.words)

    def _played(self) -> RunView:
        if self._run is None:
            raise Refusal("there is no run yet: run the cell with chapter.run() first")
        return self._run

    async def _choose(self, entry: Mapping[str, Any], scene: str) -> str:
        """Return the tool that the simulated router picks when one tool is worded anew."""
        overlay = Overlay("student", {"get_exchange_rate": dict(entry)}, {})
        suite = replace(self.suite, overlays={**self.suite.overlays, "student": overlay})
        model = self._players.simulated("sim-course-router", "chat_completions")
        talk = dialogue(
            suite, self.words, model, scene, condition=Condition("student", descriptions="student")
        )
        asked = await talk.move()
        assert isinstance(asked, Asked), asked
        made: Sequence[Any] = asked.body["choices"][0]["message"].get("tool_calls") or ()
        return str(made[0]["function"]["name"]) if made else ""
