"""The course chapter: conversations, a student's own loop, traps, safety, the run, self-test and note."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from toolbench.adapters import ADAPTERS, dialects
from toolbench.course import Chapter, layout, lesson_run, note, providers, quiz, solutions
from toolbench.course.dialogue import Ended
from toolbench.course.loop_exercise import LIMIT
from toolbench.course.silent_traps import SILENT
from toolbench.course.traps import TRAPS, spring
from toolbench.course.words import LANGS, Words, data
from toolbench.domain.codes import CODES
from toolbench.domain.config import ModelConfig
from toolbench.errors import InputError
from toolbench.experiments import Refusal
from toolbench.simulator import Simulator

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
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from texts(inner, f"{path}[{index}]")
    elif isinstance(value, dict) and value and set(value) <= set(LANGS):
        yield path, {lang: json.dumps(text) for lang, text in value.items()}
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from texts(inner, f"{path}.{key}")


@pytest.mark.parametrize("name", ["texts", "exercises", "quiz", "scenes", "wires", "providers", "injection"])
def test_every_text_is_written_in_both_languages_with_the_same_facts(name: str) -> None:
    found = dict(texts(data(name)))
    assert found
    for path, text in found.items():
        assert set(text) == set(LANGS), path
        fields = [sorted(re.findall(r"\{(\w+)[!}]", text[lang])) for lang in LANGS]
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
        "tickets": "258,63",
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
    assert {"ru": "показатель степени больше", "en": "exponents are limited"}[
        chapter.words.lang
    ] in calculator
    whitelist = chapter.whitelist().text
    assert whitelist.count("proposed → rejected") == 4
    assert "UNKNOWN_TOOL" in whitelist
    assert "t2" in chapter.wordings().text
    forced = await chapter.forced("greeting")
    assert forced.text.count("calculate(") == 1


def test_a_helpful_error_says_more_than_a_bare_one(chapter: Chapter) -> None:
    page = chapter.errors().text
    assert page.count("UNKNOWN_TIMEZONE") == 2
    assert page.count("Asia/Tokyo") == 1


# --- traps

REFUSALS = {
    "reasoning_content": "must be passed back to the API",
    "forced_while_thinking": "Thinking mode does not support this tool_choice",
    "forced_refused": 'tool_choice: type "tool" and "any" are not supported for this model.',
    "swapped_results": "",
    "strict_off_beta": "which this provider follows under /beta only",
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
    assert (sprung.status, sprung.right_status) == (400 if REFUSALS[name] else 200, 200)
    assert REFUSALS[name] in sprung.message
    assert (sprung.wrong, sprung.addresses[0]) != (sprung.right, sprung.addresses[1])
    page = await chapter.trap(name)
    assert f"HTTP {sprung.status}" in page.text
    assert REFUSALS[name] in page.text
    assert "+ " in page.text or "− " in page.text


async def test_an_unknown_trap_is_refused(chapter: Chapter) -> None:
    with pytest.raises(Refusal, match="reasoning_content"):
        await chapter.trap("quicksand")


@pytest.mark.parametrize("name", list(SILENT))
async def test_traps_that_nobody_refuses_show_what_is_wrong(name: str, chapter: Chapter) -> None:
    said = {
        "max_tokens": "invalid (truncated)",
        "from_memory": "81",
        "oversized_result": "≈ 3720",
        "json_as_text": "1.50",
    }
    page = await chapter.trap(name)
    assert said[name] in page.text
    if name == "json_as_text":
        assert page.text.count(chapter.words("yes")) == 3
    if name == "from_memory":
        assert 'get_exchange_rate({"base": "EUR", "quote": "RUB"})' in page.text


async def test_a_trap_is_stepped_into_with_the_lessons_own_model_when_it_is_that_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COURSE_TEST_KEY", "secret-key-of-the-student")
    with Simulator() as provider:
        config = {
            "provider": "deepseek",
            "model": "sim-deepseek-thinking",
            "protocol": "chat_completions",
            "profile": "deepseek",
            "base_url": provider.base_url("chat_completions"),
            "api_key_env": "COURSE_TEST_KEY",
        }
        chapter = make("en", tmp_path, config)
        page = await chapter.trap("reasoning_content")
        assert "Wrong · sim-deepseek-thinking (real)" in page.text
        assert "must be passed back to the API" in page.text
        assert "sim-claude (scripted)" in (await chapter.trap("temperature")).text
        assert "(real)" in (await chapter.trap("max_tokens")).text
        assert "secret-key" not in page.html
        chapter.close()


# --- the student's own loop


@pytest.mark.parametrize("protocol", list(ADAPTERS))
async def test_a_students_loop_plays_on_every_wire_with_tokens_and_cost(
    protocol: str, tmp_path: Path
) -> None:
    price = {"currency": "USD", "date": "2026-11-30", "input": 1, "output": 2}
    chapter = make("en", tmp_path, {**CONFIG, "protocol": protocol, "price": price})
    for exercise in solutions.NAMES:
        chapter.check(exercise, solutions.answer(exercise, "en"))
    page = (await chapter.play("tickets")).text
    assert "Not ready yet" not in page
    assert '"rate": 0.8621' in page
    assert "258.63" in page
    assert "requests: 3" in page
    inputs = [int(found) for found in re.findall(r"(\d+) → \d+ ", page)]
    assert inputs[0] < inputs[1] < inputs[2]
    assert inputs[3] == sum(inputs[:3])
    assert len(re.findall(r"0\.00\d{4}", page)) == 4
    assert "ERROR: unknown time zone 'London'" in (await chapter.play("london", "repair")).text
    chapter.close()


@pytest.mark.parametrize(
    ("model", "protocol", "profile"),
    [
        ("sim-deepseek-thinking", "chat_completions", "deepseek"),
        ("sim-gemini", "generate_content", "gemini"),
        ("sim-claude-bound", "messages", "anthropic"),
    ],
)
async def test_what_a_provider_wants_back_comes_back_from_a_students_loop(
    model: str, protocol: str, profile: str, tmp_path: Path
) -> None:
    chapter = make("en", tmp_path, {**CONFIG, "model": model, "protocol": protocol, "profile": profile})
    page = (await chapter.play("two_cities")).text
    assert "The loop returned the model's answer" in page
    assert page.count("get_time") == 2
    chapter.close()


async def test_what_is_not_ready_is_lent_and_a_bad_loop_is_ended(chapter: Chapter) -> None:
    page = (await chapter.play("percent")).text
    assert chapter.words.of(data("exercises")["titles"]["loop"]) in page.splitlines()[0]

    def endless(ask: Any, tools: Any, messages: list[Any]) -> None:
        while True:
            ask(messages)

    def gives_up(ask: Any, tools: Any, messages: list[Any]) -> None:
        return None

    def raises(ask: Any, tools: Any, messages: list[Any]) -> None:
        raise RuntimeError("too many iterations")

    for loop, key in ((endless, "own_endless"), (gives_up, "own_gave_up"), (raises, "own_raised")):
        chapter._accepted["loop"] = loop
        page = (await chapter.play("percent")).text
        assert chapter.words(key, detail="RuntimeError: too many iterations") in page


async def test_a_provider_that_does_not_answer_ends_the_play_in_a_line(tmp_path: Path) -> None:
    chapter = make("en", tmp_path, {**CONFIG, "provider": "p", "base_url": "http://127.0.0.1:9/v1"})
    assert "The model did not answer" in (await chapter.play("percent")).text
    chapter.close()


def test_schemas_are_compared_with_what_the_functions_give(chapter: Chapter) -> None:
    functions = [solutions.answer(name, "en") for name in ("calculate", "rate", "time")]
    page = chapter.compare_schemas(solutions.answer("schemas", chapter.words.lang), functions).text
    assert "description, parameters.properties.expression.description" in page
    assert "+ " in page
    bare = chapter.compare_schemas([], [lambda expression: 0]).text
    assert chapter.words("not_generated") in bare


# --- errors, safety, providers


async def test_a_hint_reaches_the_model(chapter: Chapter) -> None:
    bare, helpful = [(await chapter.failure("lira", hints=hints)).text for hints in (False, True)]
    assert bare.count("UPSTREAM_UNAVAILABLE") == helpful.count("UPSTREAM_UNAVAILABLE") == 2
    advice = {"ru": "предложи попробовать позже", "en": "offer to try again later"}[chapter.words.lang]
    assert (bare.count(advice), helpful.count(advice)) == (0, 2)


async def test_an_injected_order_is_proposed_and_never_carried_out(chapter: Chapter) -> None:
    page = (await chapter.injection()).text
    assert chapter.words("injection_asked") in page
    assert 'issue_refund({"order_id": "ORD-100001", "amount": 50000})\\n→ UNKNOWN_TOOL' in page
    least = (await chapter.injection(least_privilege=True)).text
    assert chapter.words("injection_asked") not in least
    assert "UNKNOWN_TOOL" not in least


def test_the_table_of_providers_is_made_by_the_adapters(chapter: Chapter) -> None:
    page = chapter.providers().text
    for shape in ("input_schema", "function_call_output", "reasoning_content", "tool_name", "functionCall"):
        assert shape in page
    for row in providers.ROWS:
        assert chapter.words(f"row_{row}") in page
    for provider in providers.providers():
        assert f"{provider.title} ({provider.date})" in page
        refuses = any(
            rule.setting == "tool_choice" and rule.state == "unsupported"
            for rule in dialects(provider.protocol)[1][provider.profile].capability_rules
        )
        assert refuses == ("400" in chapter.words.of(provider.facts["forced"])), provider.title


# --- the run


async def test_the_run_fills_the_table(chapter: Chapter, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Refusal, match=r"chapter.run\(\)"):
        chapter.wording_effect()
    page = (await chapter.run()).text
    assert chapter.words("run_progress", done=16, total=16, model="sim-course") in capsys.readouterr().out
    assert f"sim-course ({chapter.words('scripted')})" in page
    run = chapter._run
    assert run is not None
    table = lesson_run.results_table(run, chapter.words)
    assert len(table) == len(lesson_run.CLASSES) == 8
    right = table[f"sim-course ({chapter.words('scripted')})"]
    assert list(right).count(chapter.words("yes")) == lesson_run.right_answers(run, "sim-course") == 6
    codes = set(table[chapter.words("column_error_of", player="sim-course")])
    assert {found.partition(", ")[0] for found in codes} == {"", "unexpected_call", "missing_fact"}
    # The invented rate is also a rate that no result gives, and is called so.
    assert any("invented_value" in found for found in codes)
    assert chapter.words.of(CODES["invented_value"].meaning) in page
    assert chapter.words.of(CODES["loop_limit"].meaning) not in page
    assert "get_exchange_rate → calculate" in page
    assert "get_time + get_time" in page
    wordings = lesson_run.wording_table(run, chapter.words)
    assert len(wordings) == 8
    assert list(wordings[f"sim-course · {chapter.words('good')}"]).count("✔") == 6
    (line,) = lesson_run.wording_lines(run, chapter.words)
    effect = chapter.wording_effect().text
    assert line in effect
    for code in {code for column in wordings for code in " ".join(wordings[column]).split()} & set(CODES):
        assert chapter.words.of(CODES[code].meaning) in effect
    await chapter.run()
    runs = sorted(path.name for path in chapter.output.glob("run-*"))
    assert runs == [f"run-{chapter.words.lang}-001", f"run-{chapter.words.lang}-002"]


async def test_two_models_stand_side_by_side(tmp_path: Path) -> None:
    second = {**CONFIG, "provider": "own", "model": "sim-echo", "api_key_env": "TOOLBENCH_SIMULATOR_KEY"}
    with Simulator() as server:
        second["base_url"] = server.base_url("chat_completions")
        chapter = Chapter("en", CONFIG, second, embedded=False, output=str(tmp_path))
        page = (await chapter.run()).text
        assert "sim-echo (real)" in page
        assert "sim-course (scripted)" in page
        assert "sim-echo" in chapter.about().text
        assert len(chapter.wording_effect().text.split("sim-echo (real): ")) == 2
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
    assert quiz.right_answers(quiz.solution()) == len(quiz.questions()) == 14
    page = chapter.check_quiz({**quiz.solution(), "limit": "z", "error": ""})
    assert chapter.words("quiz_score", right=12, total=14) in page.text
    assert "a, b, c" in page.text
    assert sum("code" in entry for entry in data("quiz").values()) == 3
    assert chapter.quiz().text.count("run_tool") == 2


@pytest.mark.parametrize("typed", ["a", "A", "a)", " а ", "А."])
def test_a_letter_may_be_typed_in_several_ways(typed: str) -> None:
    assert quiz.letter(typed) == "a"
    assert quiz.letter("с") == "c"
    assert quiz.letter("б") == "б"


# --- the note


async def test_a_note_holds_scheme_rules_findings_table_and_what_is_missing(chapter: Chapter) -> None:
    words = chapter.words
    for exercise in solutions.NAMES:
        chapter.check(exercise, solutions.answer(exercise, words.lang))
    await chapter.run()
    chapter.check_quiz(quiz.solution())
    chapter.write_note(["one", "two", "three", "four", "five"], {"hints": "h | h", "descriptions": "d"})
    (path,) = chapter.output.glob("*.md")
    text = path.read_text("utf-8")
    assert f"]({path.stem}.png)" in text
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert "5. five" in text
    assert f"**{words('finding_hints')}** h \\| h" in text
    assert "sim\\-course" not in text
    assert "sim-course" in text
    assert text.count("- [x]") == 8
    assert f"- [ ] {words('done_real')}" in text
    assert words("note_missing", missing=words("done_real")) in text


def test_notes_are_numbered_and_never_written_over(chapter: Chapter) -> None:
    chapter.check("loop", solutions.answer("loop", "en"))
    chapter.write_note(["Первое | правило", "  "], {})
    chapter.write_note(["second <script>alert(1)</script>"], {})
    files = sorted(chapter.output.glob("*.md"))
    assert [file.name for file in files] == ["tool_calling_note-001.md", "tool_calling_note-002.md"]
    first, second = [file.read_text("utf-8") for file in files]
    assert "1. Первое \\| правило\n" in first
    assert "<script>" not in second.replace("\\<script\\>", "")
    done = chapter.words.of(data("exercises")["titles"]["loop"])
    assert f"- {done}: {chapter.words('note_done')}" in first
    assert chapter.words("note_untried") in first
    assert chapter.words("note_nothing") in first


def test_a_note_holds_the_table_with_model_text_escaped() -> None:
    model = ModelConfig("p", "m", "messages", "http://x")
    table = pd.DataFrame({"scenario": ["a|b\n# head"], "right?": ["<img src=x>"]})
    work = note.Work(exercises={"loop": False}, table=table, log="runs/x")
    text = note.note_text(Words("en"), model, work, "x.png")
    assert "| a\\|b \\# head | \\<img src=x\\> |" in text
    assert "- a loop of your own: not done" in text


def test_a_note_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    model = ModelConfig("p", "m", "messages", "http://x")
    with pytest.raises(InputError, match="cannot be written"):
        note.write_note(tmp_path / "file" / "folder", Words("en"), model, note.Work())


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
