"""Weights of the local models, addressed by their content.

``local_models.json`` names each model's file, size, SHA-256 and sources. A source is never trusted: the hash
decides, before every use and whatever the file came from; one that does not match never keeps the name.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from toolbench.domain.storage import cache_folder as cache_dir
from toolbench.errors import ServingError
from toolbench.local.sources import (
    HubSource,
    Source,
    SourceError,
    WheelPart,
    WheelSource,
    fetch,
    one_line,
)

LOCK_TIMEOUT_S = 3600.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LocalModel:
    """A model that can be served on this machine.

    Attributes
    ----------
    name
        Alias the server answers to.
    file
        File name in the cache.
    bytes, sha256
        Size and hash of the file; empty for a file the user gave.
    licence
        SPDX identifier of the weights' licence; empty for a file the user gave.
    sources
        Where to get the file, in order of preference.
    chat_template
        Template that replaces the one inside the file, as text.
    path
        The user's own file, used as it is.
    extra_body
        What every request has to carry, because of a fault of the engine with this model.
    """

    name: str
    file: str
    bytes: int = 0
    sha256: str = ""
    licence: str = ""
    sources: tuple[Source, ...] = ()
    chat_template: str | None = None
    path: Path | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)


@cache
def known_models() -> Mapping[str, LocalModel]:
    """Return the models of ``local_models.json`` by name, in the order of the file."""
    folder = resources.files("toolbench.local")
    rows = json.loads((folder / "local_models.json").read_text("utf-8"))["models"]
    return {row["name"]: _model(row, folder / "templates") for row in rows}


def _model(row: dict[str, Any], templates: Any) -> LocalModel:
    template = row.pop("chat_template", None)
    return LocalModel(
        **row | {"sources": tuple(_source(source) for source in row["sources"])},
        chat_template=(templates / template).read_text("utf-8") if template else None,
    )


def _source(row: dict[str, Any]) -> Source:
    if row["kind"] == "hub":
        return HubSource(row["repo"], row["revision"], row["file"])
    return WheelSource(tuple(WheelPart(**part) for part in row["parts"]))


def resolve(model: str) -> LocalModel:
    """Find a model by its name in ``local_models.json`` or by a path to a GGUF file.

    Parameters
    ----------
    model
        A known name such as ``smollm2-135m-instruct``, or a path ending in ``.gguf``.

    Raises
    ------
    ServingError
        The name is unknown, or the path is not a GGUF file.
    """
    if model in known_models():
        return known_models()[model]
    if not model.lower().endswith(".gguf"):
        names = ", ".join(known_models())
        raise ServingError(f"unknown local model {model!r}: use {names}, or a path to a .gguf file")
    path = Path(model).expanduser().absolute()
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ServingError(f"cannot read the model file {path}: {error.strerror}") from error
    if magic != b"GGUF":
        raise ServingError(f"{path} is not a GGUF file: it does not begin with the letters GGUF")
    return LocalModel(name=path.stem, file=path.name, path=path)


def ensure(
    model: str | LocalModel,
    *,
    cache_dir: Path | None = None,
    progress: bool = True,
    offline: bool = False,
) -> Path:
    """Return the path of a model's verified weights, fetching them when they are not in the cache.

    Parameters
    ----------
    model
        A name or path as for `resolve`, or a `LocalModel`. The user's own file is returned unchecked.
    cache_dir
        Cache folder; by default the function `cache_dir` tells.
    progress
        Show a progress bar while fetching.
    offline
        Use the cache only.

    Raises
    ------
    ServingError
        The model is unknown, the cache cannot be written, or no source delivered the right bytes.
    """
    found = resolve(model) if isinstance(model, str) else model
    if found.path is not None:
        return found.path
    target = _models_folder(cache_dir) / found.file
    try:
        if _intact(target, found):
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(target, found.name):
            # Another process may have fetched it while this one waited.
            if not _intact(target, found):
                _refill(target, found, progress=progress, offline=offline)
    except OSError as error:
        raise ServingError(
            f"cannot keep {found.name} in {target.parent}: {one_line(error)}; free some space there, "
            "or set TOOLBENCH_CACHE to another folder"
        ) from error
    return target


def _models_folder(folder: Path | None) -> Path:
    return (cache_dir() if folder is None else folder) / "models"


def _intact(path: Path, model: LocalModel) -> bool:
    if not path.is_file() or path.stat().st_size != model.bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == model.sha256


@contextmanager
def _only_one(target: Path, name: str) -> Iterator[None]:
    """Hold the file's lock, so that two processes do not fetch it at once."""
    from filelock import FileLock, Timeout

    lock = FileLock(f"{target}.lock")
    try:
        try:
            lock.acquire(timeout=0.5)
        except Timeout:
            log.warning("waiting for another process that is fetching %s", name)
            lock.acquire(timeout=LOCK_TIMEOUT_S)
    except Timeout as error:
        raise ServingError(
            f"another process has been fetching {name} for {LOCK_TIMEOUT_S:.0f} s: end it and try again"
        ) from error
    try:
        yield
    finally:
        lock.release()


def _refill(target: Path, model: LocalModel, *, progress: bool, offline: bool) -> None:
    if target.exists():
        log.warning("%s does not match its SHA-256: removed, to be fetched again", target)
        target.unlink()
    if offline:
        raise ServingError(f"{model.name} is not in the cache ({target.parent}) and fetching is off")
    # What a killed process was unpacking; whole parts are in the .part file and stay.
    _remove(target.parent.glob(f"{target.name}.*.part.*"))
    failures = []
    for source in model.sources:
        try:
            _download(source, target, model, progress=progress)
            return
        except SourceError as error:
            log.info("%s: %s: %s", model.name, source, error)
            failures.append(f"{source}: {error}")
    raise ServingError(
        f"cannot get {model.name} ({model.bytes / 1e6:.0f} MB). Tried {'; '.join(failures)}. "
        f"Check the network and try again, put the file at {target} by hand, "
        "or serve another GGUF file by its path"
    )


def _download(source: Source, target: Path, model: LocalModel, *, progress: bool) -> None:
    from tqdm.auto import tqdm

    # One partial file a source: bytes of one that lies must not spoil those of the next.
    key = hashlib.sha256(repr(source).encode()).hexdigest()[:8]
    partial = target.with_name(f"{target.name}.{key}.part")
    with tqdm(
        total=model.bytes, desc=model.name, unit="B", unit_scale=True, leave=False, disable=not progress
    ) as bar:

        def report(written: int) -> None:
            bar.update(written - bar.n)

        fetch(source, partial, model.bytes, report)
    if not _intact(partial, model):
        partial.unlink()
        raise SourceError("what it delivered does not match the SHA-256 and was removed")
    partial.replace(target)
    _remove(target.parent.glob(f"{target.name}.*.part"))


def _remove(leftovers: Iterable[Path]) -> None:
    for leftover in leftovers:
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)
