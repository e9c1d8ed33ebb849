from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from click.testing import CliRunner

from toolbench.cli import main
from toolbench.errors import ServingError
from toolbench.local import llama_server as local
from toolbench.local.llama_server import LocalServer

ROOT = Path(__file__).parents[2]
TOOL = {
    "type": "function",
    "function": {
        "name": "get_order",
        "description": "Look up an order by its number.",
        "parameters": {
            "type": "object",
            "properties": {"order_id": {"type": "string", "pattern": "^ORD-[0-9]{6}$"}},
            "required": ["order_id"],
            "additionalProperties": False,
        },
    },
}
QUESTION: list[dict[str, Any]] = [
    {"role": "system", "content": "You are the delivery desk of Volga Parcels."},
    {"role": "user", "content": "Where is my order ORD-123456?"},
]


def call(identifier: str, arguments: str) -> dict[str, Any]:
    return {"id": identifier, "type": "function", "function": {"name": "get_order", "arguments": arguments}}


HISTORY: list[dict[str, Any]] = [
    *QUESTION,
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [call("c1", '{"order_id": "ORD-123456"}'), call("c2", '{"order_id": "ORD-1"}')],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"status": "in <transit>"}'},
    {"role": "tool", "tool_call_id": "c2", "content": "ERROR: no such order"},
]


def ask(server: LocalServer, path: str = "/chat/completions", **body: Any) -> dict[str, Any]:
    request = {"model": server.model, "temperature": 0, "max_tokens": 64} | body
    reply = httpx.post(server.base_url + path, json=request, timeout=120, trust_env=False)
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def rendered(server: LocalServer, messages: list[dict[str, Any]]) -> str:
    address = server.base_url.removesuffix("/v1") + "/apply-template"
    reply = httpx.post(address, json={"messages": messages, "tools": [TOOL]}, timeout=60, trust_env=False)
    return str(reply.json()["prompt"])


def listening(address: str) -> bool:
    host, port = address.removeprefix("http://").removesuffix("/v1").split(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def ends_within(seconds: float, address: str) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not listening(address):
            return True
        time.sleep(0.05)
    return False


@contextmanager
def python(code: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run ``code`` in another process, ended with the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | environment,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def broken_gguf(tmp_path: Path) -> str:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + b"\xff" * 100)
    return str(path)


def test_missing_llama_cpp_says_what_to_install(broken_gguf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", lambda _: None)
    with pytest.raises(ServingError, match=r"pip install 'toolcall-workbench\[local\]'"):
        LocalServer(broken_gguf).start()


def test_stopped_server_has_no_pid_and_stops_twice(broken_gguf: str) -> None:
    server = LocalServer(broken_gguf)
    server.stop()
    server.stop()
    with pytest.raises(ServingError, match="not running"):
        _ = server.pid


def test_old_logs_are_removed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "LOGS_KEPT", 3)
    paths = [local._new_log("tiny") for _ in range(5)]
    assert len(list((cache / "logs").iterdir())) == 3
    assert paths[-1].exists()


def test_log_stays_small_and_child_ends_with_standard_input(tmp_path: Path) -> None:
    log = tmp_path / "child.log"
    log.write_bytes(b"x" * 5000)
    code = (
        "import os\n"
        "from toolbench.local import llama_child\n"
        "llama_child.LOG_LIMIT_BYTES = 1000\n"
        "llama_child._end_with_parent(os.getppid())\n"
    )
    with log.open("ab") as errors:
        child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stderr=errors, cwd=ROOT)
    assert child.stdin is not None
    deadline = time.monotonic() + 20
    while log.stat().st_size and time.monotonic() < deadline:
        time.sleep(0.05)
    assert log.stat().st_size == 0
    assert child.poll() is None
    child.stdin.close()
    assert child.wait(10) == 0


@pytest.mark.local_model
class TestStart:
    @pytest.fixture(autouse=True)
    def _llama(self, smollm2: str) -> None:
        pass

    @pytest.mark.parametrize("body", [b"\xff" * 100, b"\3\0\0\0" + b"junk" * 4], ids=["version", "header"])
    def test_file_that_is_no_model_is_reported_with_the_servers_words(
        self, broken_gguf: str, cache: Path, body: bytes
    ) -> None:
        Path(broken_gguf).write_bytes(b"GGUF" + body)
        with pytest.raises(ServingError, match="the server of broken did not start") as caught:
            LocalServer(broken_gguf).start()
        text = str(caught.value)
        assert "it ended with code 1" in text
        assert "gguf" in text
        assert "\n" not in text
        assert str(cache / "logs") in text

    def test_time_to_load_is_bounded(self, smollm2: str) -> None:
        with pytest.raises(ServingError, match=r"not ready after 0\.01 s"):
            LocalServer(smollm2, start_timeout=0.01).start()

    def test_taken_port_is_refused_even_when_another_llama_cpp_holds_it(
        self, server: LocalServer, smollm2: str
    ) -> None:
        port = int(server.base_url.removesuffix("/v1").rsplit(":", 1)[1])
        with pytest.raises(ServingError, match=f"cannot listen on 127.0.0.1:{port}.*another port"):
            LocalServer(smollm2, port=port).start()

    def test_each_parallel_request_has_the_whole_context(self, smollm2: str) -> None:
        with LocalServer(smollm2, n_ctx=1024, n_parallel=2, threads=1) as running:
            address = running.base_url.removesuffix("/v1") + "/slots"
            slots = httpx.get(address, trust_env=False).json()
        assert [slot["n_ctx"] for slot in slots] == [1024, 1024]

    def test_api_key_is_required_and_not_on_the_command_line(self, smollm2: str) -> None:
        with LocalServer(smollm2, api_key="local-secret") as running:
            address = running.base_url + "/chat/completions"
            body = {"messages": QUESTION, "max_tokens": 1}
            bare = httpx.post(address, json=body, trust_env=False)
            wrong = httpx.post(address, json=body, headers={"Authorization": "Bearer no"}, trust_env=False)
            right = httpx.post(
                address,
                json=body,
                headers={"Authorization": "Bearer local-secret"},
                timeout=60,
                trust_env=False,
            )
            shown = subprocess.run(
                ["ps", "-o", "args=", "-p", str(running.pid)], capture_output=True, text=True, check=True
            )
            assert running.log_path is not None
            log = running.log_path.read_text()
        assert [bare.status_code, wrong.status_code, right.status_code] == [401, 401, 200]
        assert "llama_child" in shown.stdout
        assert "local-secret" not in shown.stdout + log


@pytest.mark.local_model
class TestAnswers:
    def test_server_is_healthy_and_tells_the_alias(self, server: LocalServer) -> None:
        health = httpx.get(server.base_url.removesuffix("/v1") + "/health", trust_env=False)
        models = httpx.get(server.base_url + "/models", trust_env=False).json()
        assert health.json() == {"status": "ok"}
        assert [entry["id"] for entry in models["data"]] == ["smollm2-135m-instruct"]

    def test_terminal_stays_quiet(self, smollm2: str) -> None:
        code = (
            "from toolbench.local.llama_server import LocalServer\n"
            f"with LocalServer({smollm2!r}) as server: print(server.model)\n"
        )
        with python(code) as process:
            out, err = process.communicate(timeout=60)
        assert (out, err) == (f"{smollm2}\n", "")

    def test_system_prompt_tools_and_history_reach_the_model(self, server: LocalServer) -> None:
        prompt = rendered(server, HISTORY)
        system, _, rest = prompt.partition("<|im_end|>")
        assert system.startswith("<|im_start|>system\nYou are the delivery desk of Volga Parcels.")
        assert json.loads(system.split("<tools>")[-1].split("</tools>")[0]) == TOOL
        assert (
            '<tool_call>\n{"name": "get_order", "arguments": {"order_id": "ORD-123456"}}\n</tool_call>'
            in rest
        )
        assert rest.count("<tool_call>") == 2
        assert '<tool_response>\n{"status": "in <transit>"}\n</tool_response>' in rest
        assert rest.count("<|im_start|>user") == 2
        assert rest.endswith("<|im_start|>assistant\n")

    def test_history_with_calls_and_results_is_answered(self, server: LocalServer) -> None:
        assert ask(server, messages=HISTORY, tools=[TOOL])["choices"][0]["message"]["role"] == "assistant"

    def test_malformed_arguments_in_the_history_are_shown_as_written(self, server: LocalServer) -> None:
        turn = {"role": "assistant", "content": None, "tool_calls": [call("c1", '{"order_id": ')]}
        messages = [*QUESTION, turn, {"role": "tool", "tool_call_id": "c1", "content": "ERROR: invalid"}]
        assert '"arguments": {"order_id": }' in rendered(server, messages)
        ask(server, messages=messages, tools=[TOOL])

    @pytest.mark.parametrize("name", ["smollm2-135m-instruct", "qwen2.5-coder-0.5b-instruct"])
    def test_required_choice_gives_a_structured_call(
        self, have_weights: Callable[[str], str], name: str
    ) -> None:
        with LocalServer(have_weights(name)) as running:
            answer = ask(running, messages=QUESTION, tools=[TOOL], tool_choice="required")
            ask(running, messages=HISTORY, tools=[TOOL])
        (made,) = answer["choices"][0]["message"]["tool_calls"]
        assert made["function"]["name"] == "get_order"
        assert set(json.loads(made["function"]["arguments"])) == {"order_id"}

    @pytest.mark.parametrize("path", ["/responses", "/messages"])
    def test_other_protocols_are_served(self, server: LocalServer, path: str) -> None:
        body = {"input": "Hello"} if path == "/responses" else {"messages": QUESTION[1:]}
        assert ask(server, path, **body)["model"] == server.model


@pytest.mark.local_model
class TestGrammar:
    """A token that completes ``<tool_call>`` and goes on kills llama.cpp unless it is never drawn."""

    MESSAGES: ClassVar[list[dict[str, Any]]] = [
        {"role": "user", "content": "Say it."},
        {"role": "assistant", "content": "<tool_call></tool_call>"},
    ] * 3 + [{"role": "user", "content": "Say it."}]

    def test_it_is_never_drawn(self, server: LocalServer) -> None:
        answer = ask(server, messages=self.MESSAGES, tools=[TOOL], **server.extra_body)
        assert answer["choices"][0]["message"]["role"] == "assistant"
        assert server.ended() is None

    def test_engine_still_needs_that_and_its_death_is_told(self, smollm2: str) -> None:
        with LocalServer(smollm2) as running:
            with pytest.raises(httpx.TransportError):
                ask(running, messages=self.MESSAGES, tools=[TOOL])
            deadline = time.monotonic() + 10
            while (words := running.ended()) is None and time.monotonic() < deadline:
                time.sleep(0.05)
        assert words is not None
        assert "SIGABRT" in words
        assert "Unexpected empty grammar stack" in words


@pytest.mark.local_model
class TestEnd:
    def test_server_ends_with_its_block(self, smollm2: str) -> None:
        with LocalServer(smollm2) as running:
            address = running.base_url
            assert listening(address)
        assert not listening(address)

    def test_busy_server_ends_too(self, smollm2: str) -> None:
        with ThreadPoolExecutor() as pool:
            with LocalServer(smollm2) as running:
                waiting = pool.submit(ask, running, messages=QUESTION, max_tokens=4000)
                time.sleep(1)
                begun = time.monotonic()
            assert time.monotonic() - begun < 2
            assert waiting.exception(timeout=30) is not None

    def test_server_outlives_the_thread_that_started_it(self, smollm2: str) -> None:
        running = LocalServer(smollm2)
        thread = threading.Thread(target=running.start)
        thread.start()
        thread.join()
        try:
            time.sleep(0.5)
            assert listening(running.base_url)
        finally:
            running.stop()

    @pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=lambda how: how.name)
    def test_server_ends_when_its_parent_is_killed(self, smollm2: str, how: signal.Signals) -> None:
        code = (
            "import time\n"
            "from toolbench.local.llama_server import LocalServer\n"
            f"server = LocalServer({smollm2!r}).start()\n"
            "print(server.base_url, flush=True)\n"
            "time.sleep(60)\n"
        )
        with python(code) as parent:
            assert parent.stdout is not None
            address = parent.stdout.readline().strip()
            assert listening(address)
            parent.send_signal(how)
            assert ends_within(5, address)

    def test_fork_of_the_parent_does_not_keep_the_server(self, smollm2: str) -> None:
        code = (
            "import os, time\n"
            "from toolbench.local.llama_server import LocalServer\n"
            f"server = LocalServer({smollm2!r}).start()\n"
            "if os.fork() == 0:\n"
            "    time.sleep(6)\n"
            "    os._exit(0)\n"
            "print(server.base_url, flush=True)\n"
            "time.sleep(60)\n"
        )
        with python(code) as parent:
            assert parent.stdout is not None
            address = parent.stdout.readline().strip()
            assert listening(address)
            parent.kill()
            assert ends_within(4, address)

    def test_server_that_ends_by_itself_is_reported(self, smollm2: str) -> None:
        with LocalServer(smollm2) as running:
            os.kill(running.pid, signal.SIGTERM)
            with pytest.raises(ServingError, match="ended by itself"):
                running.wait()

    @pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
    def test_serving_for_ever_prints_its_address_and_ends_cleanly(
        self, smollm2: str, how: signal.Signals
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        code = (
            "from toolbench.local.llama_server import serve_forever\n"
            f"serve_forever({smollm2!r}, port={port})\n"
            "print('done')\n"
        )
        with python(code) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert f"http://127.0.0.1:{port}/v1" in line
            process.send_signal(how)
            out, err = process.communicate(timeout=10)
        assert (process.returncode, out, err) == (0, "done\n", "")
        assert not listening(f"http://127.0.0.1:{port}/v1")

    def test_a_server_of_the_command_line_answers_nobody_without_its_key(self, smollm2: str) -> None:
        code = f"from toolbench.cli import main\nmain(['serve', 'local', {smollm2!r}, '--port', '0'])\n"
        with python(code) as process:
            assert process.stdout is not None
            key = process.stdout.readline().split(": ")[1].strip()
            address = next(word for word in process.stdout.readline().split() if word.startswith("http"))
            body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
            url = f"{address}/chat/completions"
            refused = httpx.post(url, json=body, headers={"origin": "http://evil.example"}, timeout=60)
            answered = httpx.post(url, json=body, headers={"authorization": f"Bearer {key}"}, timeout=60)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=10)
        assert (refused.status_code, answered.status_code) == (401, 200)

    def test_a_key_that_is_not_there_is_named(self) -> None:
        done = CliRunner().invoke(main, ["serve", "local", "m", "--api-key-env", "NO_SUCH_KEY"])
        assert done.exit_code == 2
        assert "the variable NO_SUCH_KEY holds no key" in done.output
