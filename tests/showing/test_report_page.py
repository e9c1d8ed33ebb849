"""The report's pipeline without a browser: what it writes, what it refuses, and how it fails."""

from __future__ import annotations

import json
import re
import shutil
from functools import partial
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from click.testing import CliRunner

from tests.support import ROOT, delivery
from toolbench import cli
from toolbench.domain.config import Config
from toolbench.domain.log import LOG_NAME
from toolbench.errors import InputError
from toolbench.numbers.frames import load_run
from toolbench.running.runner import run_matrix_sync
from toolbench.showing import report, talks
from toolbench.showing.dossier import Dossier
from toolbench.showing.handing import handed_over, taken_over
from toolbench.showing.report import notebook_path, write_report
from toolbench.showing.view import RunView

OUTSIDE = re.compile(r"""(?:src|href|action|data|poster)\s*=\s*["']?\s*(?!data:|\#)[^\s>]*//|url\(|@import""")
"""Anything that would make a browser ask another machine."""
FAILURES = {
    "an error": ("raise ValueError('half-way')", "INCOMPLETE: stopped at cell"),
    "an exit that looks like success": ("import sys\nsys.exit(0)", "INCOMPLETE"),
    "a killed kernel": ("import os\nos.kill(os.getpid(), 9)", "INCOMPLETE: the notebook's kernel died"),
    "a cell without an end": ("import time\ntime.sleep(600)", "INCOMPLETE: a cell took longer than 4 s"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small complete run."""
    return _run(tmp_path_factory.mktemp("runs") / "small", cases={"tags": ["base"]}, repetitions=1)


@pytest.fixture
def small(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the small run for one test."""
    folder = tmp_path / "small"
    folder.mkdir()
    shutil.copy(made / LOG_NAME, folder)
    return folder


@pytest.fixture(scope="module")
def report_of_small(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with its report, made with other parameters than usual."""
    folder = tmp_path_factory.mktemp("reported") / "small"
    folder.mkdir()
    shutil.copy(made / LOG_NAME, folder)
    assert write_report(folder, lang="ru").problem is None
    assert (folder / LOG_NAME).read_bytes() == (made / LOG_NAME).read_bytes()
    return folder


def _run(folder: Path, **config: object) -> Path:
    run_matrix_sync(Config.from_json({"runs": [], **config}, "config.json"), [delivery("en")], folder)
    return folder


def _notebook(path: Path, cell: str) -> Path:
    """Write a report notebook of three cells with the given one in the middle."""
    new = nbformat.v4.new_code_cell
    document = nbformat.v4.new_notebook(
        cells=[
            # One line that begins with "run" alone would be IPython's magic command of that name.
            new('run: str = ""\nlang: str = "en"', metadata={"tags": ["parameters"]}),
            new("print('seen before the fault')"),
            new(cell),
            new(
                "from toolbench.showing.report import finish\nfinish(run)", metadata={"tags": ["remove_cell"]}
            ),
        ],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )
    nbformat.write(document, path)
    return path


def _first_line(page: str) -> str:
    body = page.split("<main>", 1)[1]
    return re.sub(r"<[^>]+>", "", body).strip().splitlines()[0]


@pytest.mark.parametrize(("cell", "expected"), FAILURES.values(), ids=FAILURES)
def test_a_report_that_stops_half_way_says_so_first_and_fails(
    cell: str, expected: str, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = (small / LOG_NAME).read_bytes()
    broken = _notebook(tmp_path / "broken.ipynb", cell)
    monkeypatch.setattr(report, "write_report", partial(write_report, notebook=broken, cell_timeout=4))
    outcome = CliRunner().invoke(cli.main, ["report", str(small)])
    assert outcome.exit_code == 1
    assert expected in outcome.stderr
    page = (small / "report.html").read_text()
    assert _first_line(page).startswith(expected)
    assert "seen before the fault" in page
    assert (small / LOG_NAME).read_bytes() == log
    assert json.loads((small / "report.json").read_text())["run_id"]
    assert (small / "errors.csv").read_text().startswith("provider,model,case_id,attempt,error_code")


def test_an_old_success_does_not_hide_a_new_failure(small: Path, tmp_path: Path) -> None:
    assert write_report(small, _notebook(tmp_path / "good.ipynb", "1")).problem is None
    again = write_report(small, _notebook(tmp_path / "quits.ipynb", "import sys\nsys.exit(0)"))
    assert again.problem is not None
    assert again.problem.startswith("INCOMPLETE")


def test_the_notebook_is_executed_with_other_parameters_and_leaves_the_log_alone(
    report_of_small: Path,
) -> None:
    document = nbformat.read(report_of_small / "report.ipynb", as_version=4)
    (injected,) = [c for c in document.cells if "injected-parameters" in c.metadata.get("tags", [])]
    assert 'lang = "ru"' in injected.source
    assert str(report_of_small) in injected.source
    assert {path.name for path in report_of_small.iterdir()} >= {"report.html", "report.json", "errors.csv"}
    page = (report_of_small / "report.html").read_text()
    assert 'lang = "ru"' not in page
    assert '<html lang="ru">' in page
    assert "INCOMPLETE" not in _first_line(page)


@pytest.mark.parametrize("name", ["language", "runs", "__class__"])
def test_a_parameter_the_notebook_does_not_have_is_refused(name: str, small: Path) -> None:
    with pytest.raises(InputError, match="no parameter"):
        write_report(small, parameters={name: 1})
    assert not (small / "report.ipynb").exists()


@pytest.mark.parametrize("name", ["api_key", "OPENAI_APIKEY", "auth_token", "password", "client_secret"])
def test_a_parameter_that_looks_like_a_secret_is_refused_even_where_the_notebook_has_it(
    name: str, small: Path, tmp_path: Path
) -> None:
    notebook = _notebook(tmp_path / "n.ipynb", "1")
    document = nbformat.read(notebook, as_version=4)
    document.cells[0].source += f'\n{name}: str = ""'
    nbformat.write(document, notebook)
    with pytest.raises(InputError, match="keys never go there"):
        write_report(small, notebook, {name: "canary-value"})
    assert not any(b"canary-value" in path.read_bytes() for path in small.iterdir())


def test_a_thousand_attempts_make_one_page_of_at_most_a_megabyte(tmp_path: Path) -> None:
    log = _run(tmp_path / "large", repetitions=3) / LOG_NAME
    # Under another provider's name the baselines are four models, examples and consistency included.
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        line |= {"seal": None} if line["type"] == "run" else {"provider": "rules"}
        line["hashes"].pop("header", None)
        for player in line.get("players", ()):
            player["provider"] = "rules"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert log.read_bytes().count(b"\n") > 1000
    written = write_report(log.parent)
    assert written.problem is None
    page = written.html.read_text()
    assert "raw responses" in page
    beside = [file.read_text() for file in log.parent.glob("report.[0-9]*.html")]
    assert sum(len(text.encode()) for text in (page, *beside)) <= 1_000_000
    for text in (page, *beside):
        _has_nothing_from_outside(text)


def test_the_page_is_self_contained_and_has_text_for_every_drawing(report_of_small: Path) -> None:
    page = (report_of_small / "report.html").read_text()
    _has_nothing_from_outside(page)
    assert "<img" not in page
    drawings = re.findall(r'<span[^>]*class="(?:bar|forest)"[^>]*>', page)
    assert drawings
    for drawing in drawings:
        alternative = re.search(r'aria-label="([^"]+)"', drawing)
        assert alternative, drawing
        assert len(alternative[1]) > 8


def test_every_link_of_the_page_leads_somewhere(report_of_small: Path) -> None:
    page = (report_of_small / "report.html").read_text()
    anchors = set(re.findall(r'id="([^"]+)"', page))
    links = re.findall(r'href="([^"]*)"', page)
    assert len(links) > 50
    assert [link for link in links if not link.startswith("#") or link[1:] not in anchors] == []
    assert len(anchors) == len(re.findall(r' id="', page))


def _has_nothing_from_outside(page: str) -> None:
    without_pictures = re.sub(r"data:image/png;base64,[A-Za-z0-9+/=]+", "data:", page)
    assert "<script" not in page.lower()
    assert not OUTSIDE.search(without_pictures)
    assert "<link" not in page
    assert "<iframe" not in page
    (policy,) = [meta for meta in re.findall(r"<meta[^>]*>", page) if "Content-Security-Policy" in meta]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


def test_the_report_of_a_run_with_a_missing_attempt_is_written_and_fails(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (small / LOG_NAME).read_bytes().splitlines(keepends=True)
    (small / LOG_NAME).write_bytes(b"".join(lines[:-1]))
    short = _notebook(tmp_path / "short.ipynb", "print('all there is')")
    monkeypatch.setattr(report, "write_report", partial(write_report, notebook=short))
    outcome = CliRunner().invoke(cli.main, ["report", str(small)])
    assert outcome.exit_code == 1
    assert "INCOMPLETE: 1 of" in outcome.stderr
    assert "all there is" in (small / "report.html").read_text()


@pytest.mark.parametrize("name", ["report.json", "errors.csv", "report.html", "report.ipynb"])
def test_a_file_that_cannot_be_replaced_is_one_line_and_leaves_no_draft(
    name: str, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (small / name).mkdir()
    short = _notebook(tmp_path / "short.ipynb", "1")
    monkeypatch.setattr(report, "write_report", partial(write_report, notebook=short))
    outcome = CliRunner().invoke(cli.main, ["report", str(small)])
    assert outcome.exit_code == 2
    (line,) = outcome.stderr.splitlines()[-1:]
    assert line.startswith("toolbench: ")
    assert "unexpected" not in line
    assert not [path for path in small.iterdir() if path.name.startswith(".")]


def test_a_full_disk_leaves_the_old_report(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (small / "report.json").write_text("good")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(InputError, match="No space left"):
        write_report(small)
    assert (small / "report.json").read_text() == "good"
    assert {path.name for path in small.iterdir()} == {LOG_NAME, "report.json"}


def test_where_too_much_failed_each_model_has_a_page_and_the_report_says_so(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(talks, "ON_ONE_PAGE", 10)
    dossier = Dossier(made)
    (tmp_path / "report.9-of-an-earlier-run.html").write_text("old")
    page = dossier.talks.on_page()
    assert "A page holds 10" in page.text
    files = {name: content for name, _, content in dossier.talks.files()}
    assert set(re.findall(r'href="([^"]+)"', page.html)) == set(files)
    for arm in dossier.main:
        for (player, case), (scored, passed, _) in dossier.by_case(arm).items():
            link = dossier.talks.link(player, arm, case)
            assert (link is None) == (passed == scored)
            if link is not None:
                name, anchor = link.split("#")
                assert f'id="{anchor}"' in files[name].html


def test_a_judged_run_is_taken_over_and_not_judged_again(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scored = load_run(made)
    with handed_over(scored) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("toolbench.showing.view.load_run", lambda *_: pytest.fail("judged twice"))
        pd.testing.assert_frame_equal(RunView(made).scored.attempts, scored.attempts)
        assert taken_over(made.parent) is None
    assert taken_over(made) is None


def test_the_command_tells_its_progress_and_a_wrong_name_lists_the_runs(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = _notebook(tmp_path / "short.ipynb", "1")
    monkeypatch.setattr(report, "write_report", partial(write_report, notebook=short))
    outcome = CliRunner().invoke(cli.main, ["report", str(small)])
    assert outcome.exit_code == 0
    for stage in ("reading the log", "judging: 100%", "drawing", "writing the page"):
        assert stage in outcome.stderr
    outcome = CliRunner().invoke(cli.main, ["report", str(tmp_path / "nope")])
    assert outcome.exit_code == 2
    assert f"no such run; there are: {small}" in outcome.stderr


def test_the_shipped_report_notebook_is_found() -> None:
    assert notebook_path("02_report") == ROOT / "notebooks" / "02_report.ipynb"
