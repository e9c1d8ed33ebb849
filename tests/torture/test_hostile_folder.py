"""A folder from a stranger is data: nothing in it is carried out, imported, or written through."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running.test_log import new_log
from tests.support import ROOT
from toolbench.domain.environment import code_commit
from toolbench.domain.files import append_text, write_text_atomic
from toolbench.errors import InputError, LogError

PYTHON = Path(sys.executable).parent
TRAP = "import pathlib; pathlib.Path({mark!r}).write_text('carried out')\n"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A run with everything beside it that some tool would pick up by itself."""
    folder, mark = tmp_path / "their_run", str(tmp_path / "MARK")
    new_log(folder)
    for module in (
        "pandas",
        "numpy",
        "toolbench",
        "matplotlib",
        "json",
        "sitecustomize",
        "ipykernel",
        "IPython",
    ):
        (folder / f"{module}.py").write_text(TRAP.format(mark=mark))
    for name in (
        "ipython_config.py",
        "ipython_kernel_config.py",
        "jupyter_config.py",
        "jupyter_nbconvert_config.py",
    ):
        (folder / name).write_text(TRAP.format(mark=mark))
    script = tmp_path / "trap.sh"
    script.write_text(f"#!/bin/sh\necho carried out > {mark}\n")
    script.chmod(0o755)
    git = ["git", "-C", str(folder), "-c", "user.email=a@b", "-c", "user.name=n"]
    (folder / ".gitattributes").write_text("* filter=trap\n")
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    for key in (
        "core.fsmonitor",
        "filter.trap.clean",
        "filter.trap.smudge",
        "core.hooksPath",
        "diff.external",
    ):
        subprocess.run([*git, "config", key, str(script)], check=True)
    return folder


def toolbench(folder: Path, *arguments: str, module: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, with this very tree importable and nothing else changed."""
    start = [sys.executable, "-P", "-m", "toolbench"] if not module else [sys.executable, "-m", "toolbench"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*start, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=240
    )


def test_a_report_made_in_a_strangers_folder_imports_nothing_from_it(hostile: Path, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("mine")
    for name in ("report.ipynb", "report.html", "report.json", "errors.csv", "report_status.json"):
        (hostile / name).symlink_to(target)
    done = toolbench(hostile, "report", ".")
    assert "report.html" in done.stdout, done.stderr
    assert not (tmp_path / "MARK").exists()
    assert target.read_text() == "mine"
    page = hostile / "report.html"
    assert not page.is_symlink()
    assert "INCOMPLETE: the notebook" not in page.read_text()


@pytest.mark.parametrize(
    "command", [["score", "."], ["gate", ".", "--default"], ["compare", ".", "."], ["lint", "."]]
)
def test_no_command_carries_out_what_lies_in_the_folder(
    hostile: Path, tmp_path: Path, command: list[str]
) -> None:
    done = toolbench(hostile, *command)
    assert "Traceback" not in done.stderr
    assert "unexpected" not in done.stderr
    assert not (tmp_path / "MARK").exists()


def test_a_run_in_a_strangers_checkout_starts_no_git(hostile: Path, tmp_path: Path) -> None:
    (hostile / "config.json").write_text(
        '{"runs": [], "baselines": ["always_silent"], "suites": ["delivery"], "repetitions": 1}'
    )
    done = toolbench(hostile, "run", "--config", "config.json", "--output", "mine")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "MARK").exists()


def test_the_commit_of_the_package_is_read_without_git() -> None:
    asked = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    if asked.returncode:
        pytest.skip("not in a checkout")
    code_commit.cache_clear()
    assert code_commit() == asked.stdout.strip()


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("mine")
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(InputError, match="cannot be written"):
        append_text(tmp_path / "link", "more")
    write_text_atomic(tmp_path / "link", "new")
    assert target.read_text() == "mine"
    assert (tmp_path / "link").read_text() == "new"


def test_a_log_that_is_a_link_is_not_written(tmp_path: Path) -> None:
    from toolbench.domain.log import LOG_NAME
    from toolbench.domain.log_writer import LogWriter

    target = tmp_path / "precious"
    target.write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / LOG_NAME).symlink_to(target)
    with pytest.raises(LogError, match="cannot be written"), LogWriter(tmp_path / "run", str):
        pass
    assert target.read_text() == "mine"
