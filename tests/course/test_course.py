"""The course chapter: conversations, traps, exercises that say what is wrong, the self-test and the note."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pytest

from toolbench.adapters import ADAPTERS
from toolbench.course import Chapter, layout, lesson_run, note, quiz, solutions
from toolbench.course.description_exercise import START, check_description
from toolbench.course.dialogue import Ended
from toolbench.course.loop_exercise import LIMIT, check_loop
from toolbench.course.problems import Problem, checked_page
from toolbench.course.tool_exercise import check_tool
from toolbench.course.traps import TRAPS, spring
from toolbench.course.words import LANGS, Words, data
from toolbench.domain.codes import CODES
from toolbench.domain.config import ModelConfig
from toolbench.errors import InputError
from toolbench.experiments.run_source import Refusal

CONFIG = {
    "provider": "simulator",
    "model": "sim-course",
    "protocol": "chat_completions",
    "base_url": "simulator:",
}


def make(lang: str, folder: Path, config: Mapping[str, Any] = CONFIG, **choices: Any) -> Chapter:
    return Chapter(lang, config, embedded=False, output=str(folder), **choices)


@pytest.fixture(params=LANGS)
def chapter(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Chapter]:
    made = make(request.param, tmp_path)
    yield made
    made.close()


# --- texts


def texts(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    """Yield every text that is written in languages."""
    if isinstance(value, dict) and value and set(value) <= set(LANGS):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from texts(inner, f"{path}.{key}")


@pytest.mark.parametrize("name", ["texts", "exercises", "quiz", "scenes", "wires"])
def test_every_text_is_written_in_both_languages_with_the_same_facts(name: str) -> None:
    found = dict(texts(data(name)))
    assert found
    for path, text in found.items():
        assert set(text) == set(LANGS), path
        fields = [sorted(part.split("}")[0] for part in text[lang].split("{")[1:]) for lang in LANGS]
        assert fields[0] == fields[1], path


def test_an_unknown_language_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="ru and en"):
        make("de", tmp_path)


# --- the config cell


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"api_key": "sk-123456789012345"}, "keys are never written here"),
        ({"base_url": "https://x", "model": "REPLACE_WITH_REAL_MODEL_ID"}, "placeholder"),
        ({"protocol": "smoke_signals"}, "protocol"),
        ({"colour": "red"}, "colour"),
    ],
    ids=["key", "placeholder", "protocol", "unknown"],
)
def test_a_wrong_config_cell_is_one_line(change: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=said):
        make("en", tmp_path, {**CONFIG, **change})


async def test_a_missing_key_is_said_and_nothing_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COURSE_TEST_KEY", raising=False)
    config = {
        **CONFIG,
        "provider": "p",
        "base_url": "http://127.0.0.1:9/v1",
        "api_key_env": "COURSE_TEST_KEY",
    }
    chapter = make("en", tmp_path, config)
    assert "COURSE_TEST_KEY is not set" in chapter.about().text
    page = await chapter.talk("percent").step()
    assert "There is no key" in page.text
    monkeypatch.setenv("COURSE_TEST_KEY", "very-secret-key")
    assert "very-secret-key" not in chapter.about().text
    chapter.close()


# --- conversations


async def test_the_loop_is_walked_one_move_at_a_time(chapter: Chapter) -> None:
    talk = chapter.talk("percent")
    first, second, third = [await talk.step() for _ in range(3)]
    assert '"name": "calculate"' in first.text
    assert "proposed → validated → executed" in second.text
    assert '"result": 36' in second.text
    assert "tool_call_id" in third.text
    assert talk.stop == "answered"
    assert "36" in talk.answer
    assert isinstance(await talk.move(), Ended)
    assert len(talk.moves) == 4


@pytest.mark.parametrize("protocol", list(ADAPTERS))
async def test_the_lesson_can_be_played_on_every_wire(protocol: str, tmp_path: Path) -> None:
    chapter = make("ru", tmp_path, {**CONFIG, "protocol": protocol})
    for scene, answer in {
        "percent": "36",
        "two_cities": "15:30",
        "tickets": "258.63",
        "london": "06:30",
    }.items():
        talk = chapter.talk(scene)
        page = await talk.play()
        assert talk.stop == "answered", page.text
        assert answer in talk.answer
    chapter.close()


async def test_the_endless_model_is_stopped_after_five_iterations(chapter: Chapter) -> None:
    page = await chapter.endless()
    assert page.text.count("→ {") == LIMIT
    assert chapter.words("end_loop_limit") in page.text


async def test_five_wires_say_the_same(chapter: Chapter) -> None:
    five = chapter.five_wires("two_cities")
    asked = await five.ask()
    for word in ("instructions", "input_schema", "systemInstruction", "num_ctx", "max_completion_tokens"):
        assert word in asked.text
    assert five.received().text.count("America/New_York") == 5
    decisions = five.decisions().text
    assert decisions.count('get_time({"timezone": "Asia/Tokyo"})') == 5
    assert decisions.count(chapter.words("as_text")) == 2
    assert decisions.count(chapter.words("as_object")) == 3
    back = await five.answer()
    for word in ("tool_call_id", "function_call_output", "tool_use_id", "tool_name", "functionResponse"):
        assert word in back.text
    assert five.received().text.count("15:30") == 5


async def test_pages_without_a_conversation(chapter: Chapter) -> None:
    assert "alt=" in chapter.draw_loop().html
    assert chapter.words("choice_no_field") in chapter.tool_choices().text
    assert "allowedFunctionNames" in chapter.tool_choices().text
    assert "is_error" in chapter.error_on_the_wire().text
    calculator = chapter.calculator().text
    assert calculator.count("✘") == 5
    assert "exponents are limited" in calculator
    whitelist = chapter.whitelist().text
    assert whitelist.count("proposed → rejected") == 4
    assert "UNKNOWN_TOOL" in whitelist
    assert "t2" in chapter.wordings().text
    forced = await chapter.forced("greeting")
    assert forced.text.count("calculate(") == 1
    assert "enum" in chapter.contract(solutions.convert_temperature).text


def test_a_helpful_error_says_more_than_a_bare_one(chapter: Chapter) -> None:
    page = chapter.errors().text
    assert page.count("UNKNOWN_TIMEZONE") == 2
    assert page.count("Asia/Tokyo") == 1


# --- traps

REFUSALS = {
    "reasoning_content": "must be passed back to the API",
    "forced_while_thinking": "Thinking mode does not support this tool_choice",
    "forced_refused": 'tool_choice: type "tool" and "any" are not supported for this model.',
    "split_results": "`tool_use` ids were found without `tool_result` blocks immediately after",
    "missing_call": "must be a response to a preceding message with 'tool_calls'",
    "orphan_result": "No tool call found for function call output with call_id fc_",
    "temperature": "temperature: Extra inputs are not permitted",
    "thought_signature": "missing a thought_signature",
}


@pytest.mark.parametrize("name", list(TRAPS))
async def test_each_trap_is_refused_as_documented_and_its_way_out_is_accepted(
    name: str, chapter: Chapter
) -> None:
    sprung = await spring(name, chapter.suite, chapter.words, chapter._players)
    assert (sprung.status, sprung.right_status) == (400, 200)
    assert REFUSALS[name] in sprung.message
    assert sprung.wrong != sprung.right
    page = await chapter.trap(name)
    assert "HTTP 400" in page.text
    assert REFUSALS[name] in page.text
    assert "+ " in page.text or "− " in page.text


async def test_an_unknown_trap_is_refused(chapter: Chapter) -> None:
    with pytest.raises(Refusal, match="reasoning_content"):
        await chapter.trap("quicksand")


# --- the run


async def test_the_run_fills_the_table(chapter: Chapter) -> None:
    with pytest.raises(Refusal, match=r"chapter.run\(\) first"):
        chapter.results()
    overview = await chapter.run()
    assert "keyword_router" in overview.text
    table = lesson_run.results_table(chapter._played(), chapter.words)
    assert len(table) == len(lesson_run.CLASSES) == 8
    assert list(table[chapter.words("column_right")]).count(chapter.words("yes")) == 6
    codes = set(table[chapter.words("column_error")])
    assert codes == {"", "unexpected_call", "invented_value"}
    assert chapter.words.of(CODES["invented_value"].meaning) in chapter.results().text
    effect = chapter.wording_effect().text
    assert "4/4" in effect
    assert "0/4" in effect
    await chapter.run()
    runs = sorted(path.name for path in chapter.output.glob("run-*"))
    assert runs == [f"run-{chapter.words.lang}-001", f"run-{chapter.words.lang}-002"]


# --- exercise 1: a tool


def tool_not_started(value, to): ...  # type: ignore[no-untyped-def]


def tool(convert: Callable[..., Any], doc: str | None = None, name: str = "convert_temperature") -> Any:
    convert.__name__ = name
    convert.__doc__ = solutions.convert_temperature.__doc__ if doc is None else doc
    return convert


Unit = Literal["C", "F"]


def wrong_formula(value: float, to: Unit) -> dict[str, Any]:
    return {"value": value * 2 + 30, "unit": to}


def no_enum(value: float, to: str) -> dict[str, Any]:
    return {}


def bare_number(value: float, to: Unit) -> float:
    return 1.0


def optional(value: float, to: Unit = "C") -> dict[str, Any]:
    return {}


def no_types(value, to): ...  # type: ignore[no-untyped-def]


def other_parameter(value: float, unit: Unit) -> dict[str, Any]:
    return {}


def text_value(value: str, to: Unit) -> dict[str, Any]:
    return {}


def not_cold(value: float, to: Unit) -> dict[str, Any]:
    return {"value": value * 9 / 5 + 32 if to == "F" else (value - 32) * 5 / 9, "unit": to}


def bare_refusal(value: float, to: Unit) -> dict[str, Any]:
    if value < -273:
        raise ValueError("bad")
    return not_cold(value, to)


def wrong_refusal(value: float, to: Unit) -> dict[str, Any]:
    if value < -273:
        raise KeyError("nothing is colder than -273.15")
    return not_cold(value, to)


def crashing(value: float, to: Unit) -> dict[str, Any]:
    return {"value": undefined, "unit": to}  # type: ignore[name-defined]  # noqa: F821


def unwritable(value: float, to: Unit) -> dict[str, Any]:
    return {"value": {1, 2}, "unit": to}


SHORT = "Convert.\n\nArgs:\n    value: Temperature to be converted.\n    to: Unit of the result."
TERSE = "Convert a temperature to another unit.\n\nArgs:\n    value: x\n    to: Unit of the result."
UNDESCRIBED = "Convert a temperature to another unit."
OTHER = "Convert a temperature to another unit.\n\nArgs:\n    value: Temperature.\n    unit: Unit of it."


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (tool_not_started, "tool.not_started"),
        (5, "tool.not_a_function"),
        (tool(no_types), "contract.no_annotation"),
        (tool(lambda value, to: 0, name="<lambda>"), "contract.not_a_function"),
        (tool(wrong_formula, UNDESCRIBED), "contract.no_description"),
        (tool(not_cold, name="convert"), "tool.name"),
        (tool(other_parameter, OTHER), "tool.parameters"),
        (tool(text_value), "tool.type"),
        (tool(no_enum), "tool.enum"),
        (tool(optional), "tool.required"),
        (tool(bare_number, SHORT), "tool.description_short"),
        (tool(unwritable, TERSE), "tool.parameter_short"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_faults_of_a_contract_are_named(answer: object, code: str) -> None:
    assert_said(check_tool(answer), code, "tool")


@pytest.mark.parametrize(
    ("fn", "code"),
    [
        (wrong_formula, "tool.wrong"),
        (bare_number, "tool.shape"),
        (not_cold, "tool.no_refusal"),
        (bare_refusal, "tool.bare_error"),
        (wrong_refusal, "tool.wrong_error"),
        (crashing, "tool.raised"),
        (unwritable, "tool.not_json"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_faults_of_a_tool_are_named(fn: Callable[..., Any], code: str) -> None:
    assert_said(check_tool(tool(fn)), code, "tool")


# --- exercise 2: a description

GOOD = solutions.DESCRIPTIONS["en"]


async def chosen_as_wanted(entry: Mapping[str, Any], scene: str) -> str:
    return str(entry["name"]) if scene == "rate" else "get_time"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (dict(START), "description.not_started"),
        ("get_exchange_rate", "description.shape"),
        ({**GOOD, "parameters": {"base": "x"}}, "description.shape"),
        ({**GOOD, "description": 5}, "description.shape"),
        ({**GOOD, "name": "t2"}, "description.name"),
        ({**GOOD, "description": "The rate"}, "description.short"),
        ({**GOOD, "description": "Returns how one currency relates to another"}, "description.direction"),
        ({**GOOD, "description": "base quote " * 50}, "description.long"),
        ({**GOOD, "parameters": {"base": "code", "quote": "code"}}, "description.same"),
        (
            {**GOOD, "parameters": {**GOOD["parameters"], "quote": "an ISO 4217 code"}},
            "description.example",
        ),
    ],
)
async def test_faults_of_a_description_are_named(answer: object, code: str) -> None:
    assert_said(await check_description(answer, chosen_as_wanted), code, "description")


@pytest.mark.parametrize(
    ("description", "code"),
    [
        ("Tells how much of quote is paid for one unit of base today", "description.not_chosen"),
        ("What time does it take until the rate of base in quote changes", "description.too_wide"),
    ],
)
async def test_a_description_has_to_be_found_by_the_router(
    description: str, code: str, tmp_path: Path
) -> None:
    chapter = make("en", tmp_path)
    answer = {**GOOD, "name": "get_price", "description": description}
    if code == "description.too_wide":
        answer["name"] = "what_time_exchange"
    assert_said(await check_description(answer, chapter._choose), code, "description")
    chapter.close()


# --- exercise 3: a loop


def start(ask, tools, messages):  # type: ignore[no-untyped-def]
    while True:
        message = ask(messages)
        if not message.get("tool_calls"):
            return message["content"]
        call = message["tool_calls"][0]["function"]
        result = tools[call["name"]](**json.loads(call["arguments"]))
        messages.append({"role": "tool", "content": json.dumps(result)})


def loop(
    limit: int = LIMIT,
    calls: slice = slice(None),
    tool_id: Callable[[dict[str, Any]], Any] = lambda call: call["id"],
    content: Callable[[Any], Any] = json.dumps,
    read: Callable[[str], Any] = json.loads,
    failed: Callable[[Exception], str] | None = lambda error: f"ERROR: {error}",
    catches: tuple[type[Exception], ...] = (Exception,),
    order: Callable[[dict[str, Any], list[dict[str, Any]]], list[dict[str, Any]]] = lambda said, done: [
        said,
        *done,
    ],
    answer: Callable[[str], Any] = str,
    eager: bool = False,
) -> Any:
    """Return a right loop, but for what is asked otherwise; an eager one also executes the last calls."""

    def execute(tools: Mapping[str, Any], call: dict[str, Any]) -> Any:
        try:
            return content(tools[call["function"]["name"]](**read(call["function"]["arguments"])))
        except catches as error:
            if failed is None:
                raise
            return failed(error)

    def run_loop(ask: Any, tools: Mapping[str, Any], messages: list[dict[str, Any]]) -> Any:
        for iteration in range(limit + 1):
            said = ask(messages)
            if not said.get("tool_calls"):
                return answer(said["content"])
            if iteration == limit and not eager:
                break
            done = [
                {"role": "tool", "tool_call_id": tool_id(call), "content": execute(tools, call)}
                for call in said["tool_calls"][calls]
            ]
            messages.extend(order(said, done))
        return None

    return run_loop


def once(ask: Any, tools: Any, messages: Any) -> Any:
    return "4" if ask(messages) else ""


def python(text: str) -> Any:
    return eval(text)  # noqa: S307


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (start, "loop.assistant_missing"),
        (5, "loop.not_a_function"),
        (once, "loop.one_request"),
        (lambda: None, "loop.escaped"),
        (loop(order=lambda said, done: [*done, said]), "loop.assistant_late"),
        (
            loop(order=lambda said, done: [said, {"role": "user", "content": "?"}, *done]),
            "loop.foreign_message",
        ),
        (loop(tool_id=lambda call: None), "loop.no_id"),
        (loop(content=lambda result: result), "loop.not_text"),
        (loop(calls=slice(1)), "loop.result_missing"),
        (loop(answer=lambda text: None), "loop.answer"),
        (loop(failed=None), "loop.tool_error_escapes"),
        (loop(catches=(ValueError,)), "loop.unknown_escapes"),
        (loop(failed=lambda error: str(error)), "loop.unmarked"),
        (loop(failed=lambda error: f"Traceback (most recent call last): {error}"), "loop.traceback"),
        (loop(read=python), "loop.eval"),
        (loop(limit=10**6), "loop.no_limit"),
        (loop(limit=6), "loop.no_limit"),
        (loop(limit=1), "loop.early"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_faults_of_a_loop_are_named(answer: object, code: str) -> None:
    assert_said(check_loop(answer), code, "loop")


def test_broken_json_that_escapes_is_named() -> None:
    def careless(text: str) -> Any:
        if text.endswith(": "):
            raise SystemError("not JSON")
        return json.loads(text)

    answer = loop(read=careless, catches=(ValueError, KeyError, TypeError))
    assert_said(check_loop(answer), "loop.json_escapes", "loop")


@pytest.mark.parametrize("answer", [loop(), loop(limit=LIMIT - 1, eager=True)], ids=["six", "five"])
def test_a_right_loop_may_ask_a_sixth_time_or_not(answer: object) -> None:
    assert check_loop(answer) == []


def test_calls_with_each_others_arguments_are_named() -> None:
    def always_first(text: str) -> Any:
        return {"expression": "2+2"} if "3+3" in text else json.loads(text)

    assert_said(check_loop(loop(read=always_first)), "loop.not_called", "loop")


# --- all exercises


def assert_said(problems: list[Problem], code: str, exercise: str) -> None:
    """The code is among the problems, and every language says it in a page that is not done."""
    assert code in [problem.code for problem in problems]
    for lang in LANGS:
        page = checked_page(exercise, problems, Words(lang))
        assert page.text.startswith("✘")
        for problem in problems:
            assert layout.visible(problem.said(Words(lang))) in page.text


async def test_the_model_solutions_pass_every_check(chapter: Chapter) -> None:
    assert check_tool(solutions.convert_temperature) == []
    assert check_loop(solutions.run_loop) == []
    answer = solutions.DESCRIPTIONS[chapter.words.lang]
    assert await check_description(answer, chapter._choose) == []
    assert (await chapter.check_description(answer)).text.startswith("✔")


@pytest.mark.parametrize("lang", LANGS)
def test_every_message_can_be_filled_in(lang: str) -> None:
    facts = dict.fromkeys(("found", "wanted", "parameter", "fault", "call", "error", "words"), "X")
    facts |= dict.fromkeys(("limit", "chosen", "role", "lacking", "made", "asked"), "X")
    for code in data("exercises")["problems"]:
        said = Problem(code, facts).said(Words(lang))
        assert said
        assert "{" not in said


async def test_solved_checks_the_model_solutions_instead(tmp_path: Path) -> None:
    chapter = make("ru", tmp_path, solved=True)
    pages = [chapter.check_tool(None), await chapter.check_description(None), chapter.check_loop(None)]
    assert all(page.text.startswith("✔") for page in pages)
    assert "8" in chapter.check_quiz({}).text
    chapter.close()


# --- the self-test


def test_every_letter_has_its_reason_and_the_right_one_is_not_given_away(chapter: Chapter) -> None:
    for name in quiz.questions():
        entry = data("quiz")[name]
        for letter, option in entry["options"].items():
            page = quiz.checked_quiz({name: letter.upper()}, chapter.words)
            assert chapter.words.of(option["why"]) in page.text
            assert ("✔" in page.text) == (letter == entry["answer"])
        wrong = next(letter for letter in entry["options"] if letter != entry["answer"])
        page = quiz.checked_quiz({name: wrong}, chapter.words)
        assert chapter.words.of(entry["options"][entry["answer"]]["why"]) not in page.text


def test_the_self_test_counts(chapter: Chapter) -> None:
    assert quiz.right_answers(quiz.solution()) == len(quiz.questions()) == 8
    page = chapter.check_quiz({**quiz.solution(), "limit": "z", "error": ""})
    assert chapter.words("quiz_score", right=6, total=8) in page.text
    assert "a, b, c" in page.text


# --- the note


def test_notes_are_numbered_and_never_written_over(chapter: Chapter) -> None:
    chapter.check_loop(solutions.run_loop)
    chapter.write_note(["Первый | вывод", "  "])
    chapter.write_note(["second <script>alert(1)</script>"])
    files = sorted(chapter.output.glob("*.md"))
    assert [file.name for file in files] == ["tool_calling_note-001.md", "tool_calling_note-002.md"]
    first, second = [file.read_text("utf-8") for file in files]
    assert "- Первый \\| вывод\n" in first
    assert "<script>" not in second.replace("\\<script\\>", "")
    done = chapter.words.of(data("exercises")["titles"]["loop"])
    assert f"- {done}: {chapter.words('note_done')}" in first
    assert chapter.words("note_untried") in first


def test_a_note_holds_the_table_with_model_text_escaped(tmp_path: Path) -> None:
    model = ModelConfig("p", "m", "messages", "http://x")
    table = pd.DataFrame({"scenario": ["a|b\n# head"], "right?": ["<img src=x>"]})
    text = note.note_text(Words("en"), model, [], table, "runs/x", {"tool": False}, {})
    assert "| a\\|b \\# head | \\<img src=x\\> |" in text
    assert "- a tool and its contract: not done" in text


def test_a_note_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"):
        note.write_note(tmp_path / "file" / "folder", "text")


# --- layout


def test_hostile_text_stays_text() -> None:
    evil = "<img src=x onerror=alert(1)> \u202e"
    pages = [
        layout.code(evil),
        layout.json_page({evil: [evil]}),
        layout.columns([(evil, layout.code(evil))]),
        layout.box("bad", evil),
        layout.changed("a", evil),
    ]
    for page in pages:
        assert "<img" not in page.html
        assert "\u202e" not in page.html


def test_pretty_json_is_the_same_json() -> None:
    value = {"a": [1, {"b": "c" * 80}, []], "d": {}, "e": None, "f": [{"g": True}] * 3}
    assert json.loads(layout.pretty(value)) == value


def test_a_comma_alone_is_no_difference() -> None:
    page = layout.changed('{\n  "a": 1\n}', '{\n  "a": 1,\n  "b": 2\n}')
    assert page.text == '  {\n    "a": 1,\n+   "b": 2\n  }'
