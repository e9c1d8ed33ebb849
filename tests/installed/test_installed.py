"""The built wheel in a clean environment, away from the repository: everything a user does first, for real.

Run alone with ``pytest -m installed``; it needs a package index and takes two or three minutes.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import ROOT

pytestmark = [pytest.mark.installed, pytest.mark.timeout(900)]
Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Installed:
    """An environment that holds the wheel and what it depends on, and a folder to work in."""

    programs: Path
    folder: Path
    environ: Mapping[str, str]

    def __call__(self, program: str, *arguments: str | Path, code: int = 0, cwd: Path | None = None) -> Done:
        """Run a program of the environment and check its exit code."""
        done = subprocess.run(
            [self.programs / program, *arguments],
            cwd=cwd or self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == code, f"{program} {arguments}\n{done.stdout}{done.stderr}"
        return done


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel, built and installed with the versions of the lock file."""
    base = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", base, ROOT]
    subprocess.run(pip, check=True, timeout=300)
    (wheel,) = base.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", base / "env"], check=True, timeout=120)
    (base / "work").mkdir()
    foreign = ("PYTHON", "VIRTUAL_ENV", "JUPYTER")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    environ = {**kept, "PATH": f"{base / 'env/bin'}:{os.environ['PATH']}", "SIM_KEY": "any-text-will-do"}
    made = Installed(base / "env/bin", base / "work", environ)
    lock = ROOT / "requirements.lock"
    made("python", "-m", "pip", "install", "--quiet", "--constraint", lock, wheel)
    return made


@pytest.fixture(scope="module")
def workspace(installed: Installed) -> Path:
    installed("toolbench", "init", "bench")
    return installed.folder / "bench"


@pytest.fixture(scope="module")
def simulator(installed: Installed) -> Iterator[str]:
    """The address of a simulator that the installed command serves."""
    command = [installed.programs / "toolbench", "serve", "simulator", "--port", "0"]
    with subprocess.Popen(
        command, cwd=installed.folder, env=installed.environ, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        found = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline())
        try:
            assert found
            yield found[0]
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def run(installed: Installed, workspace: Path, simulator: str) -> Path:
    """A run of the baselines and of two simulated models over two wires, in the workspace."""
    data = json.loads((workspace / "config.json").read_text())
    sim = {"provider": "simulator", "api_key_env": "SIM_KEY", "base_url": f"{simulator}/v1"}
    data["runs"] = [
        {**sim, "model": "sim-router", "protocol": "chat_completions"},
        {**sim, "model": "sim-always-first", "protocol": "messages"},
    ]
    (workspace / "simulated.json").write_text(json.dumps(data))
    done = installed(
        "toolbench", "run", "--config", "simulated.json", "--output", "runs/first", cwd=workspace
    )
    assert re.search(r"(\d+) attempts made, 0 there before, \1 planned, 0 transport errors", done.stdout)
    return workspace / "runs/first"


def test_it_is_the_wheel_that_runs_and_the_repository_is_nowhere(installed: Installed) -> None:
    told = "import sys, toolbench; print(toolbench.__file__, *sys.path, sep='\\n')"
    home, *paths = installed("python", "-c", told).stdout.splitlines()
    assert home.startswith(str(installed.programs.parent))
    assert not any(path.startswith(str(ROOT)) for path in paths)
    assert re.search(r"\d+\.\d+\.\d+", installed("toolbench", "--version").stdout)


def test_the_figures_of_a_run(installed: Installed, run: Path) -> None:
    figures = json.loads(installed("toolbench", "score", run, "--json").stdout)
    scored = {result["model"]: result["scored"] for result in figures["results"]}
    assert {"sim-router", "sim-always-first", "keyword_router", "always_silent"} <= set(scored)
    assert all(number > 0 for number in scored.values())
    assert "sim-router" in installed("toolbench", "score", run).stdout


def test_the_report_of_a_run(installed: Installed, run: Path) -> None:
    installed("toolbench", "report", run)
    page = (run / "report.html").read_text()
    assert "sim-always-first" in page
    assert "INCOMPLETE" not in page
    assert page.count("<table") >= 3
    assert json.loads((run / "report.json").read_text())["results"]
    assert (run / "errors.csv").read_text().count("\n") > 10


def test_the_gates_fixed_by_the_workspace_are_decided(installed: Installed, run: Path) -> None:
    assert "no_unsafe_calls" in installed("toolbench", "gate", run, code=1).stdout


def test_the_suites_of_the_workspace_are_whole(installed: Installed, workspace: Path) -> None:
    assert installed("toolbench", "lint", "contracts", "cases", cwd=workspace).stderr == "0 problems\n"


def test_the_bench_proves_itself(installed: Installed) -> None:
    """In an empty folder, so with the suites of the package."""
    empty = installed.folder / "empty"
    empty.mkdir()
    told = installed("toolbench", "selfcheck", cwd=empty).stdout
    assert "selfcheck of course, delivery, refund, reschedule, tickets" in told
    assert "all sections ok" in told


def test_a_configuration_anywhere_plays_shipped_suites(installed: Installed, tmp_path: Path) -> None:
    data = {"runs": [], "baselines": ["keyword_router"], "suites": ["refund"], "repetitions": 1}
    (tmp_path / "config.json").write_text(json.dumps(data))
    done = installed("toolbench", "run", "--config", tmp_path / "config.json", "--output", tmp_path / "run")
    assert re.search(r"[1-9]\d+ attempts made", done.stdout)


def test_a_notebook_of_the_workspace_plays_by_papermill(installed: Installed, workspace: Path) -> None:
    installed(
        "papermill", "01_run_matrix.ipynb", "../runs/played.ipynb",
        "-p", "config", "../baselines.json", "-p", "output", "../runs/notebook",
        cwd=_with_baselines(workspace) / "notebooks",
    )  # fmt: skip
    outputs = (workspace / "runs/played.ipynb").read_text()
    made = len((workspace / "runs/notebook/attempts.jsonl").read_text().splitlines()) - 1
    assert made > 100
    assert f"{made} of {made} attempts" in outputs


def _with_baselines(workspace: Path) -> Path:
    data = json.loads((workspace / "config.json").read_text())
    (workspace / "baselines.json").write_text(json.dumps({**data, "runs": []}))
    return workspace


def test_what_goes_wrong_is_one_line(installed: Installed, workspace: Path) -> None:
    refused = installed("toolbench", "init", workspace, code=2)
    assert refused.stdout == ""
    assert refused.stderr.startswith(f"toolbench: {workspace}: nothing was written, there already: README.md")
    assert refused.stderr.count("\n") == 1
