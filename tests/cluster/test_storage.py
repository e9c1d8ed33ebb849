"""Runs in object storage, kept by a real server: what is reported is there, and reads back byte for byte."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from click.testing import CliRunner

import toolbench
from tests.cluster.conftest import Process
from tests.support import ROOT, delivery
from toolbench.cli import main
from toolbench.domain import storage
from toolbench.domain.config import Config
from toolbench.domain.log import LOG_NAME, RunLog, log_of
from toolbench.domain.log_writer import LogWriter
from toolbench.domain.storage import PARTS, LogObjects, put_back, url_of
from toolbench.errors import InputError, LogError
from toolbench.numbers.frames import load_run
from toolbench.running.runner import run_matrix_sync

SUITE = delivery().keep(delivery().cases[:6])
DENIED = (
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject", '
    '"Resource": "arn:aws:s3:::closed/*"}]}'
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that speaks S3, with two buckets: into one nobody may write."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("moto")
    moto = Process(folder, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port))
    moto.wait_for(r"(Running on)")
    yield f"http://127.0.0.1:{port}"
    moto.end()


@pytest.fixture
def bucket(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a folder of this test, in the open bucket."""
    for name, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "canary",
        "AWS_SECRET_ACCESS_KEY": "canary-of-the-bucket",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "1",
        "TOOLBENCH_CACHE": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    files = fsspec.filesystem("s3", skip_instance_cache=True)
    for name in ("open", "closed"):
        if not files.exists(name):
            files.mkdir(name)
    files.call_s3("put_bucket_policy", Bucket="closed", Policy=DENIED)
    return f"s3://open/{tmp_path.name}"


def config(**changes: Any) -> Config:
    data = {"runs": [], "baselines": ["keyword_router", "always_silent"], "repetitions": 2, **changes}
    return Config.from_json(data, "config.json")


def objects(run: str) -> list[str]:
    found: list[str] = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False).find(run)
    return found


def test_a_path_still_says_where_it_leads() -> None:
    assert url_of(Path("s3://bucket/a/run")) == "s3://bucket/a/run"
    assert url_of(Path("gs:/bucket/run")) == "gs://bucket/run"
    assert url_of(Path("runs/a")) is None
    assert url_of(Path("C:/runs")) is None


def test_a_run_in_a_bucket_is_the_run_of_a_folder(bucket: str, tmp_path: Path) -> None:
    reported: list[int] = []

    def on_attempt(progress: Any) -> None:
        # What is reported is there already.
        parts = [fs.cat_file(name) for name in fs.find(f"{bucket}/{PARTS}")]
        reported.append(sum(content.count(b"\n") for content in parts))

    fs = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False)
    far = run_matrix_sync(config(), [SUITE], Path(bucket), on_attempt=on_attempt)
    run_matrix_sync(config(), [SUITE], tmp_path / "near")
    assert far.complete
    assert all(lines > number for number, lines in enumerate(reported, 1))
    assert RunLog.open(Path(bucket)).keys == RunLog.open(tmp_path / "near").keys
    one, other = load_run(bucket).figures, load_run(tmp_path / "near").figures
    times = one["metric"].str.contains("latency|seconds|token_ms")
    assert one[~times].equals(other[~times])
    assert len(toolbench.load(bucket)) == 24
    assert "canary-of-the-bucket" not in log_of(Path(bucket)).read_text()


def test_a_run_in_a_bucket_is_continued_and_its_copy_fetches_what_is_new(bucket: str) -> None:
    run = Path(bucket)
    first = run_matrix_sync(config(), [SUITE], run, among=lambda key: key.repetition == 0)
    assert len(RunLog.open(run)) == first.made == 12
    with pytest.raises(LogError, match="already holds a run"):
        run_matrix_sync(config(), [SUITE], run)
    fetched = log_of(run).stat().st_size
    assert run_matrix_sync(config(), [SUITE], run, resume=True).complete
    assert len(RunLog.open(run)) == 24
    assert log_of(run).stat().st_size > fetched
    with pytest.raises(LogError, match="no run to resume"):
        run_matrix_sync(config(), [SUITE], Path(bucket + "-other"), resume=True)


def test_of_two_writers_one_is_refused_and_nothing_is_mixed(bucket: str) -> None:
    one, other = LogObjects(bucket), LogObjects(bucket)
    one.write(b'{"a": 1}\n')
    with pytest.raises(LogError, match="another process is writing this run"):
        other.write(b'{"b": 1}\n')
    one.write(b'{"a": 2}\n')
    assert log_of(Path(bucket)).read_bytes() == b'{"a": 1}\n{"a": 2}\n'


def test_a_log_that_was_replaced_is_fetched_anew_and_one_with_a_gap_is_refused(bucket: str) -> None:
    fs = fsspec.filesystem("s3", skip_instance_cache=True)
    log = LogObjects(bucket)
    for number in range(3):
        log.write(f"line {number}\n".encode())
    assert log_of(Path(bucket)).read_text() == "line 0\nline 1\nline 2\n"
    fs.pipe_file(f"{bucket}/{PARTS}/000000000000000.jsonl", b"LINE 0\n")
    assert log_of(Path(bucket)).read_text() == "LINE 0\nline 1\nline 2\n"
    fs.rm(f"{bucket}/{PARTS}/000000000000007.jsonl")
    with pytest.raises(LogError, match="begins at byte 7 is missing"):
        log_of(Path(bucket))


def test_what_is_made_beside_a_log_is_put_back_and_found_by_others(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LogWriter(Path(bucket), str) as writer:
        writer.append(b"{}")
    folder = log_of(Path(bucket)).parent
    (folder / "verdicts").mkdir()
    (folder / "verdicts" / "a.parquet").write_bytes(b"kept")
    put_back(folder, Path(bucket))
    monkeypatch.setenv("TOOLBENCH_CACHE", str(tmp_path / "another"))
    again = log_of(Path(bucket)).parent
    assert again != folder
    assert (again / "verdicts" / "a.parquet").read_bytes() == b"kept"


def test_a_killed_run_has_everything_that_it_reported(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"runs": [], "suites": ["delivery"], "repetitions": 30}')
    command = [sys.executable, "-m", "toolbench", "run", "--config", "config.json", "--output", bucket]
    run = subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL
    )
    end = time.monotonic() + 60
    while len(objects(bucket)) < 4:
        assert time.monotonic() < end
        time.sleep(0.05)
    run.send_signal(signal.SIGKILL)
    run.wait()
    log = RunLog.open(Path(bucket))
    assert len(log)
    assert log.problems == []


def test_what_a_storage_refuses_is_one_line_and_exit_code_2(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"runs": [], "suites": ["delivery"], "repetitions": 1}')
    run = ["run", "--config", str(tmp_path / "config.json"), "--langs", "en", "--output"]
    for command, said in (
        ([*run, "s3://closed/run"], "no right to do so"),
        ([*run, "s3://nowhere-at-all/run"], "no such bucket"),
        (["score", "s3://nowhere-at-all/run"], "no such bucket"),
        (["score", f"{bucket}/none"], "no such run"),
        ([*run, "nosuchscheme://a/b"], "nosuchscheme"),
    ):
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 2, (command, result.output)
        assert said in result.stderr
        assert result.stderr.startswith("toolbench: ")
        assert result.stderr.count("\n") == 1
        assert said == "no such run" or "folder of this machine" in result.stderr


def test_the_extra_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"toolcall-workbench\[scale\]"):
        LogObjects("s3://open/run")


def test_a_report_of_a_run_in_a_bucket_is_put_beside_it(bucket: str) -> None:
    run_matrix_sync(config(repetitions=1), [SUITE], Path(bucket))
    result = CliRunner().invoke(main, ["report", bucket])
    assert result.exit_code == 0, result.output
    assert {"report.html", "report.json", "errors.csv", "report.ipynb"} <= {
        name.rpartition("/")[2] for name in objects(bucket)
    }
    assert LOG_NAME not in {name.rpartition("/")[2] for name in objects(bucket)}
