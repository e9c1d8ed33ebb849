"""The exercises: typical wrong answers get a message each, and good ones of many kinds are accepted."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolbench.course import Chapter, solutions
from toolbench.course.chapter import CHECKS
from toolbench.course.problems import Problem, blocking, checked_page
from toolbench.course.rates_service import RatesService, offline, rate
from toolbench.course.words import LANGS, Words, data

HERE = Path(__file__).parent
WRONG = json.loads((HERE / "wrong_answers.json").read_text("utf-8"))
RIGHT = json.loads((HERE / "right_answers.json").read_text("utf-8"))


def answered(entry: dict[str, Any]) -> Any:
    """Return what a student's cell defines."""
    cell: dict[str, Any] = {}
    exec("\n".join(entry["answer"]), cell)  # noqa: S102
    return cell[solutions.NAMES[entry["exercise"]]]


@pytest.mark.parametrize("entry", WRONG, ids=lambda entry: entry["says"])
def test_a_wrong_answer_is_told_what_to_change(entry: dict[str, Any]) -> None:
    problems = blocking(CHECKS[entry["exercise"]](answered(entry)))
    assert problems[0].code == entry["says"]
    for lang in LANGS:
        page = checked_page(entry["exercise"], problems, Words(lang))
        assert page.text.startswith("✘")
        assert problems[0].said(Words(lang))[:40] in page.text


def test_forty_wrong_answers_have_a_message_each() -> None:
    assert len(WRONG) >= 40
    messages = data("exercises")["problems"]
    for lang in LANGS:
        assert len({messages[entry["says"]][lang] for entry in WRONG}) == len(WRONG)


@pytest.mark.parametrize("entry", RIGHT, ids=lambda entry: f"{entry['exercise']}: {entry['why']}")
def test_good_answers_of_many_kinds_are_accepted(entry: dict[str, Any]) -> None:
    assert blocking(CHECKS[entry["exercise"]](answered(entry))) == []


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("exercise", CHECKS)
def test_the_solutions_pass_every_check_and_are_shown_after_a_try(
    exercise: str, lang: str, tmp_path: Path
) -> None:
    assert CHECKS[exercise](solutions.answer(exercise, lang)) == []
    source = solutions.source(exercise, lang)
    assert answered({"exercise": exercise, "answer": source.splitlines()}) is not None
    model = {
        "provider": "simulator",
        "model": "sim-course",
        "protocol": "messages",
        "base_url": "simulator:",
    }
    chapter = Chapter(lang, model, embedded=False, output=str(tmp_path))
    chapter.check(exercise, None if exercise != "schemas" else [])
    assert source.splitlines()[0] not in chapter.solution("loop" if exercise != "loop" else "rate").text
    chapter.check(exercise, 5)
    assert source.splitlines()[0] in chapter.solution(exercise).text
    chapter.close()


def test_broken_json_is_advice() -> None:
    entry = next(entry for entry in RIGHT if "outside of the try" in entry["why"])
    problems = CHECKS["loop"](answered(entry))
    assert [found.code for found in problems] == ["loop.json_escapes"]
    page = checked_page("loop", problems, Words("en"))
    assert page.text.startswith("✔")
    assert "The arguments are no JSON" in page.text
    # Nothing is praised that the remark takes back.
    assert data("exercises")["praise"]["loop"]["en"] not in page.text


def test_the_five_faults_of_the_broken_loop_are_named_one_after_another() -> None:
    lines = {
        "append": "        messages.append(message)",
        "each": "        for call in message['tool_calls']:",
    }

    def loop(*repaired: str) -> list[str]:
        limit = "for _ in range(5):" if "limit" in repaired else "while True:"
        id_ = ", 'tool_call_id': call['id']" if "id" in repaired else ""
        catch = "Exception" if "catch" in repaired else "ZeroDivisionError"
        calls = "message['tool_calls']" if "all" in repaired else "message['tool_calls'][:1]"
        return [
            "import json",
            "def repaired_loop(ask, tools, messages):",
            f"    {limit}",
            "        message = ask(messages)",
            lines["append"] if "append" in repaired else "        pass",
            "        if not message.get('tool_calls'):",
            "            return message['content']",
            f"        for call in {calls}:",
            "            try:",
            "                arguments = json.loads(call['function']['arguments'])",
            "                result = json.dumps(tools[call['function']['name']](**arguments))",
            f"            except {catch} as error:",
            "                result = f'ERROR: {error}'",
            f"            messages.append({{'role': 'tool'{id_}, 'content': result}})",
        ]

    order = ("append", "id", "all", "catch", "limit")
    said = []
    for count in range(len(order) + 1):
        problems = CHECKS["repair"](answered({"exercise": "repair", "answer": loop(*order[:count])}))
        said += [found.code for found in problems]
    assert said == [
        "loop.assistant_missing",
        "loop.no_id",
        "loop.result_missing",
        "loop.tool_error_escapes",
        "loop.no_limit",
    ]


@pytest.mark.parametrize("lang", LANGS)
def test_every_message_can_be_filled_in(lang: str) -> None:
    facts = dict.fromkeys(("found", "wanted", "parameter", "tool", "call", "error", "words", "limit"), "X")
    facts |= dict.fromkeys(("expression", "missing", "extra", "role", "lacking", "made", "asked", "id"), "X")
    for code in data("exercises")["problems"]:
        said = Problem(code, facts).said(Words(lang))
        assert said
        assert "{found}" not in said


# --- the rate service


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://api.frankfurter.dev/v2/rate/USD/EUR", ("rate",)),
        ("https://api.frankfurter.dev/v1/latest?base=USD&symbols=EUR", ("rates", "EUR")),
        ("https://api.frankfurter.app/latest?from=USD&to=EUR", ("rates", "EUR")),
        ("https://api.frankfurter.dev/v2/rates?base=USD&quotes=EUR", (0, "rate")),
        ("https://open.er-api.com/v6/latest/USD", ("rates", "EUR")),
    ],
)
def test_the_frozen_table_answers_as_the_public_services_do(url: str, path: tuple[Any, ...]) -> None:
    import httpx

    with offline(RatesService()) as service:
        found = httpx.get(url, timeout=3).json()
    for key in path:
        found = found[key]
    assert found == rate("USD", "EUR") == 0.8621
    assert service.timeouts() == [3]
