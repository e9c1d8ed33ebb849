"""The example package, built as a wheel and installed beside toolbench: one of each kind at work."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support import ROOT

pytestmark = [pytest.mark.installed, pytest.mark.timeout(600)]
EXAMPLE = ROOT / "tests/extensions/example"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of its own that sees this one's packages and has the wheel installed."""
    base = tmp_path_factory.mktemp("extension")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", base, EXAMPLE]
    subprocess.run(pip, check=True, timeout=300)
    (wheel,) = base.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", base / "env"], check=True, timeout=120)
    program = base / "env/bin/python"
    (site,) = base.glob("env/lib/python*/site-packages")
    (site / "beside.pth").write_text(f"{ROOT}\n{sysconfig.get_paths()['purelib']}\n")
    install = [program, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(install, check=True, timeout=120)
    return program


def toolbench(python: Path, *arguments: str, cwd: Path, code: int = 0) -> str:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [python, "-m", "toolbench", *arguments]
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, f"{arguments}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def test_each_kind_of_extension_is_at_work(python: Path, tmp_path: Path) -> None:
    (tmp_path / "tools.txt").write_text("get_car: Returns a car.\n")
    told = toolbench(python, "import", "lines", "tools.txt", "--name", "cars", cwd=tmp_path)
    assert "1 tool," in told
    tools = tmp_path / "contracts/cars/tools.json"
    data = json.loads(tools.read_text())
    schema = {"type": "object", "properties": {"plate": {"type": "string"}}, "required": ["plate"]}
    data["tools"][0] |= {"parameters": schema, "normalizers": {"plate": "plate"}}
    tools.write_text(json.dumps(data))
    (tmp_path / "contracts/cars/executor.json").write_text(
        json.dumps({"version": "1", "rules": [{"tool": "get_car", "results": [{"ok": "red"}]}]})
    )
    (tmp_path / "contracts/cars/prompt.en.md").write_text("Be brief.")
    call = {"tool": "get_car", "arguments": {"plate": "AB12CD"}, "match": "normalized"}
    case = {"id": "one", "class": "one", "lang": "en", "user": "What about AB 12 CD?"}
    (tmp_path / "cases").mkdir(exist_ok=True)
    (tmp_path / "cases/cars.en.jsonl").write_text(
        json.dumps({**case, "expect": {"kind": "tool_call", "calls": [call]}})
    )
    made = [{"name": "get_car", "arguments": {"plate": "ab 12 cd"}}]
    rules = [{"when": {"after_tool_result": True}, "then": {"text": "IT IS RED."}}, {"then": {"calls": made}}]
    (tmp_path / "model.json").write_text(json.dumps({"models": {"m": {"rules": rules}}}))
    run = {"provider": "p", "model": "m", "protocol": "chat_completions", "base_url": "simulator:model.json"}
    (tmp_path / "config.json").write_text(
        json.dumps({"runs": [run], "baselines": [], "suites": ["cars"], "repetitions": 1})
    )
    toolbench(python, "run", "--config", "config.json", "--output", "run", cwd=tmp_path)
    with (tmp_path / "run/attempts.jsonl").open() as log:
        versions = json.loads(next(log))["versions"]
    assert versions["adapters.house_chat"] == versions["checks.no_shouting"] == "1.2"
    scored = toolbench(python, "score", "run", "--json", cwd=tmp_path)
    assert "shouting" in scored
    assert "argument_mismatch" not in scored
    assert "normalizers.plate@1.2" in scored
    config = json.loads((tmp_path / "config.json").read_text())
    config["runs"][0] |= {"protocol": "house_chat", "base_url": "http://127.0.0.1:9/v1"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    listed = toolbench(python, "models", "--config", "config.json", cwd=tmp_path, code=2)
    assert "(house_chat" in listed
