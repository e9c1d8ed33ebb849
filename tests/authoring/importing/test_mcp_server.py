"""Tools of live MCP servers: the tests' own over stdio and HTTP, honest and not, and the public one."""

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.authoring.importing.support import files, import_, tools_of
from toolbench.authoring.lint import lint

pytest.importorskip("mcp")
SERVER = Path(__file__).parent / "mcp_server.py"


def command(fault: str) -> str:
    return f"{sys.executable} {SERVER} {fault}"


def check(root: Path) -> None:
    made = tools_of(root, "lamps")
    assert {name: (tool["effect"], tool.get("confirmation", False)) for name, tool in made.items()} == {
        "lamp_state": ("read", False),
        "burn": ("write", True),
        "poke": ("write", False),
    }
    data = json.loads((root / "contracts/lamps/tools.json").read_text())
    assert data["note"] == "tools of the MCP server lamps 2.1"
    script = json.loads((root / "contracts/lamps/executor.json").read_text())
    answers = {rule["tool"]: rule["results"] for rule in script["rules"]}
    assert answers["lamp_state"] == [{"ok": {"state": "on"}}]
    assert lint([root / "contracts"]) == []


def test_a_server_over_stdio_is_read_page_by_page(tmp_path: Path) -> None:
    result = import_("mcp", command("honest"), "--name", "lamps", "--into", tmp_path)
    assert result.exit_code == 0, result.output
    check(tmp_path)
    assert "lamp.state: renamed to lamp_state" in result.stderr
    assert "lamp.state: annotations.idempotentHint: left out" in result.stderr


@pytest.fixture
def address() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([sys.executable, str(SERVER), "honest", str(port)])
    try:
        for _ in range(150):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.terminate()
        server.wait(20)


def test_a_server_over_streamable_http_is_read_page_by_page(address: str, tmp_path: Path) -> None:
    result = import_("mcp", address, "--name", "lamps", "--into", tmp_path)
    assert result.exit_code == 0, result.output
    check(tmp_path)
    elsewhere = import_("mcp", address.replace("/mcp", "/nothing"), "--into", tmp_path, "--timeout", "20")
    assert (elsewhere.exit_code, len(elsewhere.output.splitlines())) == (2, 1), elsewhere.output


@pytest.mark.parametrize(
    ("server", "said"),
    [
        pytest.param(command("mute"), "no list of tools within 4 s", id="never_answers"),
        pytest.param(command("silent"), "no list of tools within 4 s", id="never_lists"),
        pytest.param(command("noise"), "no list of tools within 4 s", id="no_protocol"),
        pytest.param(command("crash"), "mcp_server.py crash", id="dies_at_once"),
        pytest.param(command("dies"), "mcp_server.py dies", id="dies_between_pages"),
        pytest.param(command("circle"), "goes round in a circle", id="endless_pages"),
        pytest.param(command("empty"), "has no tools", id="no_tools"),
        pytest.param(command("refuses"), "mcp_server.py refuses", id="answers_an_error"),
        pytest.param(command("lies"), "not a valid JSON Schema", id="lies_about_its_schema"),
        pytest.param("/no/such/program", "FileNotFoundError", id="no_such_program"),
        pytest.param("'open", "neither an address nor a command", id="no_command"),
        pytest.param("", "neither an address nor a command", id="nothing"),
        pytest.param("http://127.0.0.1:9/mcp", "ConnectError", id="nobody_listens"),
    ],
)
def test_a_bad_server_is_one_line_and_leaves_nothing(server: str, said: str, tmp_path: Path) -> None:
    started = time.monotonic()
    result = import_("mcp", server, "--into", tmp_path, "--timeout", "4" if "4 s" in said else "25")
    assert (result.exit_code, len(result.output.splitlines())) == (2, 1), result.output
    assert said in result.output
    assert "Traceback" not in result.output
    assert files(tmp_path) == []
    assert time.monotonic() - started < 40


@pytest.mark.timeout(300)
def test_the_public_reference_server_is_read(tmp_path: Path) -> None:
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("no npm here")
    server = f"{npx} -y @modelcontextprotocol/server-everything@2026.8.31"
    result = import_("mcp", server, "--name", "everything", "--into", tmp_path, "--timeout", "200")
    if "within 200 s" in result.output:
        pytest.skip("npm could not fetch the server")
    assert result.exit_code == 0, result.output
    assert len(tools_of(tmp_path, "everything")) >= 8
    assert lint([tmp_path / "contracts"]) == []
