"""The chapter: what the cells of the course notebooks call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from toolbench.course import five_wires, injected, layout, lesson_run, note, providers, safety, solutions
from toolbench.course import quiz as self_test
from toolbench.course.calculator_exercise import check_calculator
from toolbench.course.dialogue import Asked, Dialogue, dialogue, question_of
from toolbench.course.drawing import loop_page
from toolbench.course.five_wires import Wires
from toolbench.course.loop_exercise import check_loop
from toolbench.course.own_loop import OwnLoop
from toolbench.course.players import Players, embedded_here, is_scripted
from toolbench.course.problems import Problem, blocking, checked_page
from toolbench.course.rate_exercise import check_rate
from toolbench.course.schema_exercise import as_tools, check_schemas, compared_page
from toolbench.course.silent_traps import SILENT
from toolbench.course.time_exercise import check_time
from toolbench.course.traps import TRAPS, spring, trap_page
from toolbench.course.words import Words, data
from toolbench.domain.condition import BUILT_IN_CONDITIONS, Condition
from toolbench.domain.config import ModelConfig, public_url
from toolbench.domain.record import Progress
from toolbench.domain.shipped import shipped
from toolbench.domain.suite import find_suite
from toolbench.errors import InputError, ServingError
from toolbench.experiments import Refusal, politely
from toolbench.showing import NotebookProgress, RunView, html
from toolbench.showing.html import Page

MODES = ("auto", "none", "required")
CHECKS: Mapping[str, Callable[[object], list[Problem]]] = {
    "calculate": check_calculator,
    "rate": check_rate,
    "time": check_time,
    "schemas": check_schemas,
    "loop": check_loop,
    "repair": check_loop,
}
"""Exercise → what is wrong with an answer to it."""
STARTS_WITH = {"repair": "loop.assistant_missing"}
"""What the check finds in an exercise that starts from something, as long as nothing is changed in it."""
TOOLS = ("calculate", "rate", "time")
SCRIPTED_LESSON, SCRIPTED_LOOP = "sim-course", "sim-course-own"
"""The lesson's scripted model, and the one that repeats what a student's own tools return."""


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
    second
        The model to compare with; empty takes the embedded model, if its weights are on this machine.
    embedded
        Let the embedded model play.
    live_rates
        Let the student's rate function ask the public service instead of the frozen table.
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
        second: Mapping[str, Any] | None = None,
        *,
        embedded: bool = True,
        live_rates: bool = False,
        solved: bool = False,
        output: str = "../runs/course",
    ) -> None:
        with politely():
            self.words = Words(lang)
            self.suite = find_suite(shipped(), "course")
            self._players = Players()
            self.model = self._players.read(model)
            self._second = self._players.read(second) if second else None
        self.solved = solved
        self.output = Path(output)
        self._live_rates = live_rates
        self._embedded = embedded and embedded_here()
        self._done: dict[str, bool] = {}
        self._tried: set[str] = set()
        self._accepted: dict[str, Any] = {}
        self._answers: Mapping[str, str] = {}
        self._run: RunView | None = None
        self._real = False

    def close(self) -> None:
        """Stop the servers of the lesson."""
        self._players.close()

    def about(self) -> Page:
        """Who plays, over which wire, and whether the key is there (never the key itself)."""
        words, model = self.words, self.model
        second = self._second.model if self._second else ""
        facts = {
            "model": f"{model.provider} / {model.model} ({self._kind(model)})",
            "protocol": model.protocol,
            "address": public_url(model.base_url),
            "key": self._key(model),
            "second": second or words("about_embedded_here" if self._embedded else "about_embedded_off"),
        }
        frame = pd.DataFrame({"": [words(f"about_{name}") for name in facts], " ": list(facts.values())})
        scripted = layout.box("note", words("about_scripted"), html.paragraph(words("about_scripted_why")))
        return layout.table(frame) + (scripted if is_scripted(model.provider) else html.EMPTY)

    def draw_loop(self) -> Page:
        """The loop as a picture."""
        return loop_page(self.words)

    def talk(self, scene: str, *, hints: bool = True) -> Dialogue:
        """Return a conversation with the lesson's model, to be stepped through."""
        with politely():
            return dialogue(self.suite, self.words, self.model, scene, hints=hints)

    # --- exercises

    def check(self, exercise: str, answer: object) -> Page:
        """Check an answer to an exercise; what passes is played with from then on."""
        if exercise not in CHECKS:
            raise Refusal(self.words("no_exercise", exercise=exercise, known=", ".join(CHECKS)))
        if self.solved:
            answer = solutions.answer(exercise, self.words.lang)
        problems = CHECKS[exercise](answer)
        wrong = blocking(problems)
        self._done[exercise] = not wrong
        if not wrong:
            self._accepted[exercise] = answer
        if not wrong or not (wrong[0].untouched or wrong[0].code == STARTS_WITH.get(exercise)):
            self._tried.add(exercise)
        return checked_page(exercise, problems, self.words)

    def solution(self, exercise: str) -> Page:
        """A good answer to an exercise, once it has been tried."""
        if exercise not in CHECKS:
            raise Refusal(self.words("no_exercise", exercise=exercise, known=", ".join(CHECKS)))
        title = self.words.of(data("exercises")["titles"][exercise])
        if exercise not in self._tried:
            return layout.box("note", self.words("solution_later", title=title))
        source = solutions.source(exercise, self.words.lang)
        return html.folded(self.words("solution_here", title=title), layout.code(source))

    def compare_schemas(self, schemas: object, functions: Sequence[Callable[..., Any]]) -> Page:
        """The student's schemas beside those that their functions would have given."""
        if self.solved:
            schemas = solutions.answer("schemas", self.words.lang)
            functions = [solutions.answer(name, self.words.lang) for name in TOOLS]
        return compared_page(schemas, functions, self.words)

    async def play(self, scene: str, exercise: str = "loop") -> Page:
        """Play a question with the student's loop, tools and schemas; what is not ready yet is lent."""
        lent = [name for name in (*TOOLS, "schemas", exercise) if name not in self._accepted]
        tools = {solutions.NAMES[name]: self._ready(name) for name in TOOLS}
        prompt = self.suite.prompt(self.words.lang)
        offered = as_tools(self._ready("schemas"))
        own = OwnLoop(_repeating(self.model), tools, offered, prompt, self.words, self._live_rates)
        with politely():
            page = await own.play(self._ready(exercise), question_of(scene, self.words))
        titles = data("exercises")["titles"]
        names = ", ".join(self.words.of(titles[name]) for name in lent)
        return (layout.box("note", self.words("own_lent", names=names)) if lent else html.EMPTY) + page

    def _ready(self, exercise: str) -> Any:
        """Return the student's answer if it has passed its check, else the lesson's own."""
        return self._accepted.get(exercise, solutions.answer(exercise, self.words.lang))

    # --- wires

    def five_wires(self, scene: str) -> Wires:
        """Return the same question on five wires, each with a simulated provider."""
        return Wires(self.suite, self.words, self._players, scene)

    def providers(self) -> Page:
        """Nine rows in which five providers differ."""
        return providers.providers_page(self.words)

    def tool_choices(self) -> Page:
        """What the choice among tools becomes on each wire."""
        return five_wires.choices_page(self.suite, self.words, self._players)

    async def forced(self, scene: str) -> Page:
        """What a simulated model does with a question under each tool choice."""
        model = self._players.simulated("sim-openai", "chat_completions", profile="openai")
        rows = []
        for mode in MODES:
            condition = Condition(mode, tool_choice=mode)  # type: ignore[arg-type]
            talk = dialogue(self.suite, self.words, model, scene, condition=condition)
            asked = await talk.move()
            assert isinstance(asked, Asked), asked
            calls = [f"{call.name}({call.raw_arguments})" for call in asked.decision.calls]
            rows.append((mode, "; ".join(calls) or self.words.quoted(asked.decision.text)))
        columns = [self.words("column_mode"), self.words("column_did")]
        return layout.table(pd.DataFrame(rows, columns=columns), question_of(scene, self.words))

    # --- errors and safety

    def errors(self) -> Page:
        """The same failures, bare and helpful."""
        return safety.errors_page(self.suite, self.words)

    def error_on_the_wire(self) -> Page:
        """One failure as each wire carries it."""
        failure = safety.first_failure(self.suite, self.words)
        return five_wires.failed_page(self.suite, self.words, self._players, failure)

    async def failure(self, scene: str, *, hints: bool) -> Page:
        """The same failing question to every model of the lesson, without or with a hint in the error."""
        condition = BUILT_IN_CONDITIONS["auto" if hints else "no_hints"]
        return await self._every_model(
            lambda model: dialogue(
                self.suite, self.words, _repeating(model), scene, condition=condition, hints=hints
            )
        )

    def calculator(self) -> Page:
        """What the calculator refuses."""
        return safety.calculator_page(self.words)

    def whitelist(self) -> Page:
        """Which calls never reach a tool."""
        return safety.whitelist_page(self.suite, self.words)

    async def injection(self, *, least_privilege: bool = False) -> Page:
        """A review that gives orders to the model: what it does, and what the program does."""
        real = [model for model in self._models() if not is_scripted(model.provider)]
        return await injected.injection_page(self.words, self._players, real, least_privilege)

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
                    "parameters": {
                        name: self.words.of(schema["description"]) for name, schema in tool.properties.items()
                    },
                }
                for tool in map(change, self.suite.contract.tools)
            ]
            panels.append((self.words(kind), layout.json_page(shown)))
        return layout.columns(panels, 30)

    async def trap(self, name: str) -> Page:
        """Step into a trap: what is wrong, what the provider says to it, and the way out."""
        with politely():
            if name in SILENT:
                return await SILENT[name](self.suite, self.words, self._players, self.model)
            if name not in TRAPS:
                known = ", ".join((*TRAPS, *SILENT))
                raise InputError(self.words("no_trap", trap=name, known=known))
            sprung = await spring(name, self.suite, self.words, self._players, self.model)
            return trap_page(name, sprung, self.words)

    # --- the run

    async def run(self) -> Page:
        """Play the eight scenarios on the models of the lesson, with good and with bad descriptions."""
        folder = note.free_path(self.output, f"run-{self.words.lang}")
        ready = [model for model in self._models() if not self._lacks_key(model)]
        absent = [model for model in self._models() if self._lacks_key(model)]
        notes = [
            layout.box("note", self.words("run_without", model=model.model, name=model.api_key_env))
            for model in absent
        ]
        players = ready or [self._players.simulated(SCRIPTED_LESSON, "chat_completions")]
        with politely():
            self._run = await lesson_run.play(
                self.suite, self.words.lang, players, folder, NotebookProgress(self._played)
            )
        self._real = any(not is_scripted(model.provider) for model in ready)
        return html.join([*notes, lesson_run.results_page(self._run, self.words)])

    def wording_effect(self) -> Page:
        """Good beside bad descriptions, scenario by scenario."""
        if self._run is None:
            raise Refusal(self.words("no_run"))
        return lesson_run.wording_page(self._run, self.words)

    # --- self-test and note

    def quiz(self) -> Page:
        """The questions of the self-test."""
        return self_test.quiz_page(self.words)

    def check_quiz(self, answers: Mapping[str, str]) -> Page:
        """Check the letters of the self-test."""
        self._answers = self_test.solution() if self.solved else dict(answers)
        return self_test.checked_quiz(self._answers, self.words)

    def write_note(self, rules: Sequence[str], findings: Mapping[str, str]) -> Page:
        """Write the student's rules, findings, results and progress into a numbered Markdown file."""
        run = self._run
        work = note.Work(
            exercises=self._done,
            table=lesson_run.results_table(run, self.words) if run else None,
            wordings=lesson_run.wording_lines(run, self.words) if run else (),
            log=run.scored.log.path.as_posix() if run else "",
            real=self._real,
            answers=self._answers,
            rules=rules,
            findings=findings,
        )
        with politely():
            path, text = note.write_note(self.output, self.words, self.model, work)
        return layout.box("good", self.words("note_written", path=path), layout.code(text))

    def _played(self, progress: Progress) -> str:
        """Return how far a run has come."""
        done, total = progress.done, progress.total
        return self.words("run_progress", done=done, total=total, model=progress.attempt.model)

    # --- who plays

    def _models(self) -> list[ModelConfig]:
        """Return the lesson's model and the one beside it, if there is one and it can be started."""
        second = self._second
        if second is None and self._embedded:
            try:
                second = self._players.embedded()
            except ServingError:
                self._embedded = False
        pair = [self.model] if second is None else [second, self.model]
        return list({model.key: model for model in pair}.values())

    async def _every_model(self, talk: Callable[[ModelConfig], Dialogue]) -> Page:
        pages = []
        for model in self._models():
            pages.append((f"{model.model} ({self._kind(model)})", await talk(model).play()))
        return layout.columns(pages, 30)

    def _kind(self, model: ModelConfig) -> str:
        return self.words("scripted" if is_scripted(model.provider) else "real")

    def _key(self, model: ModelConfig) -> str:
        name = model.api_key_env
        if not name or is_scripted(model.provider):
            return self.words("about_no_key")
        return self.words("about_key_missing" if self._lacks_key(model) else "about_key_set", name=name)

    def _lacks_key(self, model: ModelConfig) -> bool:
        return model.api_key_env is not None and not os.environ.get(model.api_key_env)


def _repeating(model: ModelConfig) -> ModelConfig:
    """Return a model, or in place of the lesson's scripted one that which repeats what a tool returned."""
    if is_scripted(model.provider) and model.model == SCRIPTED_LESSON:
        return replace(model, model=SCRIPTED_LOOP)
    return model
