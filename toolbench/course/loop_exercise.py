"""Exercises: write the loop, and repair a broken one. A scripted model reads the history as strictly as a
provider does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from toolbench.course.problems import Problem, problem

LIMIT = 5
PATIENCE = 12
"""Requests after which a loop without a limit is stopped."""
RESULTS = {"2+2": 4, "3+3": 6}
"""What the calculator of the check knows."""
EVALUATED = "dict(expression='2+2'*1)"
"""No JSON, but Python: only a loop that evaluates arguments can call the tool with it."""

Message = dict[str, Any]
Loop = Callable[[Callable[[list[Message]], Message], Mapping[str, Callable[..., Any]], list[Message]], Any]


class _Found(BaseException):
    """Carries a problem out of the student's loop; no ``except Exception`` of theirs can hold it."""

    def __init__(self, found: Problem) -> None:
        super().__init__(found.code)
        self.found = found


class ScriptedModel:
    """Answers with prepared messages, the last one again and again, and checks every history it is given.

    Parameters
    ----------
    replies
        Assistant messages in the form of Chat Completions.
    """

    def __init__(self, replies: Sequence[Message]) -> None:
        self._replies = replies
        self._expected = 1
        self.asked = 0
        self.seen: list[Message] = []

    def __call__(self, messages: list[Message]) -> Message:
        """Return the next message, after a look at what has been done with the one before."""
        self.seen = deepcopy(messages) if isinstance(messages, list) else []
        if self.asked:
            self._check(self._replies[min(self.asked, len(self._replies)) - 1])
        if self.asked >= PATIENCE:
            raise _Found(problem("loop.no_limit", asked=self.asked))
        self._expected = len(self.seen)
        self.asked += 1
        return deepcopy(self._replies[min(self.asked, len(self._replies)) - 1])

    def _check(self, said: Message) -> None:
        new = self.seen[self._expected :]
        if not new:
            raise self._wrong("loop.not_started")
        if said not in new:
            raise self._wrong("loop.assistant_missing")
        if new[0] != said:
            raise self._wrong("loop.assistant_late")
        waiting = [call["id"] for call in said["tool_calls"]]
        for message in new[1:]:
            if message.get("role") != "tool":
                raise self._wrong("loop.foreign_message", role=message.get("role"))
            if message.get("tool_call_id") not in waiting:
                raise self._wrong("loop.no_id", found=message.get("tool_call_id"))
            if not isinstance(message.get("content"), str):
                raise self._wrong("loop.not_text", found=type(message.get("content")).__name__)
            waiting.remove(message["tool_call_id"])
        if waiting:
            raise self._wrong("loop.result_missing", made=len(said["tool_calls"]), lacking=len(waiting))

    def _wrong(self, code: str, **facts: object) -> _Found:
        return _Found(problem(code, self.seen, **facts))


def check_loop(answer: object) -> list[Problem]:
    """Return the first thing that is wrong with a student's loop; advice alone does not end the search."""
    if not callable(answer):
        return [problem("loop.not_a_function")]
    found: dict[str, Problem] = {}
    for check in (_plain, _parallel, _failing, _unknown, _broken_json, _evaluating, _endless):
        try:
            check(answer)
        except _Found as carried:
            found.setdefault(carried.found.code, carried.found)
            if not carried.found.advice:
                return [carried.found]
    return list(found.values())


def _plain(loop: Loop) -> None:
    outcome, model, _ = _run(
        loop, [_calls(("calculate", '{"expression": "2+2"}')), _text("4")], "loop.escaped"
    )
    if outcome != "4":
        raise _Found(problem("loop.answer", model.seen, found=outcome))


def _parallel(loop: Loop) -> None:
    two = _calls(("calculate", '{"expression": "2+2"}'), ("calculate", '{"expression": "3+3"}'))
    _, model, made = _run(loop, [two, _text("4, 6")], "loop.escaped")
    # In any order: they are independent. What counts is which result stands under which id.
    if sorted(made) != ["2+2", "3+3"]:
        raise _Found(problem("loop.not_called", model.seen, found=made))
    told = {
        message["tool_call_id"]: message["content"] for message in model.seen if message["role"] == "tool"
    }
    for call, result in zip(two["tool_calls"], RESULTS.values(), strict=True):
        if str(result) not in told[call["id"]]:
            raise _Found(problem("loop.swapped", model.seen, id=call["id"], found=told[call["id"]]))


def _failing(loop: Loop) -> None:
    _marked(loop, _calls(("calculate", '{"expression": "1/0"}')), "loop.tool_error_escapes")


def _unknown(loop: Loop) -> None:
    _marked(loop, _calls(("run_shell", '{"command": "ls"}')), "loop.unknown_escapes")


def _broken_json(loop: Loop) -> None:
    _marked(loop, _calls(("calculate", '{"expression": ')), "loop.json_escapes")


def _evaluating(loop: Loop) -> None:
    _, model, made = _run(loop, [_calls(("calculate", EVALUATED)), _text("?")], "loop.json_escapes")
    if made:
        raise _Found(problem("loop.eval", model.seen))


def _endless(loop: Loop) -> None:
    """Five iterations and an end: returning nothing, or raising as after a loop over ``range(5)``."""
    _, model, made = _run(loop, [_calls(("calculate", '{"expression": "2+2"}'))], None)
    if len(made) > LIMIT:
        raise _Found(problem("loop.no_limit", asked=model.asked))
    if model.asked < LIMIT:
        raise _Found(problem("loop.early", made=model.asked))


def _marked(loop: Loop, said: Message, escapes: str) -> None:
    """A failure has to come back as a text that is told from a result, without a traceback."""
    _, model, _ = _run(loop, [said, _text("?")], escapes)
    told = str(model.seen[-1].get("content")) if model.seen else ""
    if "Traceback" in told:
        raise _Found(problem("loop.traceback", model.seen))
    if told.upper().startswith('"ERROR'):
        raise _Found(problem("loop.quoted_error", model.seen, found=told))
    if not told.upper().startswith("ERROR"):
        raise _Found(problem("loop.unmarked", model.seen, found=told))


def _run(loop: Loop, replies: Sequence[Message], escapes: str | None) -> tuple[Any, ScriptedModel, list[str]]:
    """Return what the loop returned, the model it asked, and the expressions it had calculated.

    ``escapes`` is the problem when the loop raises; ``None`` takes that for an end.
    """
    made: list[str] = []

    def calculate(expression: Any) -> dict[str, Any]:
        if isinstance(expression, dict):
            raise _Found(problem("loop.not_unpacked", model.seen))
        if expression == "1/0":
            raise ValueError("division by zero")
        made.append(expression)
        return {"result": RESULTS.get(expression, 4)}

    model = ScriptedModel(replies)
    try:
        outcome = loop(model, {"calculate": calculate}, [{"role": "user", "content": "2+2?"}])
    except Exception as error:
        if escapes is None:
            return None, model, made
        raise _Found(problem(escapes, model.seen, error=f"{type(error).__name__}: {error}")) from None
    if model.asked == 0:
        raise _Found(problem("loop.never_asked"))
    if model.asked < min(2, len(replies)):
        raise _Found(problem("loop.one_request", model.seen))
    return outcome, model, made


def _text(text: str) -> Message:
    return {"role": "assistant", "content": text}


def _calls(*calls: tuple[str, str]) -> Message:
    made = [
        {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for index, (name, arguments) in enumerate(calls, 1)
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}
