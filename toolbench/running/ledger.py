"""What a run has handed in to batch endpoints, on disk before and after: ``batches.jsonl`` beside the log.

A run that is continued finds every request that it has asked already, and neither asks nor pays twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from toolbench.adapters import Asked
from toolbench.domain.canonical import JSON
from toolbench.domain.environment import now
from toolbench.domain.files import no_link
from toolbench.errors import LogError

LEDGER_NAME = "batches.jsonl"


@dataclass(frozen=True)
class Lot:
    """Requests that were handed in together.

    Attributes
    ----------
    tag
        Ours, known before the provider's id.
    player
        Whose requests they are.
    ids
        Of the requests, in order.
    batch
        The provider's id; ``None`` as long as it has not told it.
    over
        ``ended``, ``refused``, ``cancelled`` or, while it is out, empty.
    """

    tag: str
    at: str
    player: str
    ids: Sequence[str] = field(repr=False)
    batch: str | None = None
    over: str = ""

    @property
    def asked(self) -> Asked:
        """What an endpoint needs to find it."""
        return Asked(self.tag, self.at, len(self.ids))


class Ledger:
    """The lots of one run. The run's log is locked by its writer, and the ledger with it.

    Raises
    ------
    LogError
        When a line cannot be read, or the disk refuses one.
    """

    def __init__(self, run: Path) -> None:
        self.path = run / LEDGER_NAME
        self.lots: dict[str, Lot] = {}
        self._last: dict[str, tuple[int, str]] = {}
        whole = 0
        for number, raw in enumerate(self._read(), 1):
            if not raw.endswith(b"\n"):
                # A crash has cut it short: what it would have announced has not been done.
                os.truncate(self.path, whole)
                break
            whole += len(raw)
            try:
                self._take(json.loads(raw))
            except (ValueError, KeyError, TypeError, AttributeError):
                raise LogError(f"{self.path}:{number}: is no line of a ledger of batches") from None

    @property
    def out(self) -> list[Lot]:
        """The lots that a provider may still be working on."""
        return [lot for lot in self.lots.values() if not lot.over]

    def lot_of(self, name: str) -> tuple[Lot, str] | None:
        """Return where a request was asked last and under which id, or ``None`` if it never was."""
        if name not in self._last:
            return None
        times, tag = self._last[name]
        return self.lots[tag], f"{name}-{times}"

    def next_id(self, name: str) -> str:
        """Return the id under which a request is asked next."""
        return f"{name}-{self._last[name][0] + 1 if name in self._last else 1}"

    def hand_in(self, tag: str, player: str, ids: Sequence[str]) -> Lot:
        """Write down what is about to be handed in."""
        self._write({"what": "asked", "tag": tag, "at": now(), "player": player, "ids": list(ids)})
        return self.lots[tag]

    def told(self, lot: Lot, batch: str) -> Lot:
        """Write down the provider's id."""
        self._write({"what": "told", "tag": lot.tag, "batch": batch, "at": now()})
        return self.lots[lot.tag]

    def close(self, lot: Lot, how: str) -> None:
        """Write down that nothing more comes of a lot."""
        if self.lots[lot.tag].over != how:
            self._write({"what": how, "tag": lot.tag, "at": now()})

    def _take(self, line: dict[str, JSON]) -> None:
        tag = line["tag"]
        if line["what"] == "asked":
            self.lots[tag] = Lot(tag, line["at"], line["player"], line["ids"])
            for id_ in line["ids"]:
                name, _, times = id_.rpartition("-")
                self._last[name] = int(times), tag
        elif line["what"] == "told":
            self.lots[tag] = replace(self.lots[tag], batch=line["batch"])
        else:
            self.lots[tag] = replace(self.lots[tag], over=line["what"])

    def _read(self) -> Iterator[bytes]:
        try:
            with open(self.path, "rb") as stream:
                yield from stream
        except FileNotFoundError:
            return
        except OSError as fault:
            raise LogError(f"{self.path}: cannot be read ({fault.strerror})") from None

    def _write(self, line: dict[str, JSON]) -> None:
        try:
            descriptor = no_link(str(self.path), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                text = json.dumps(line).encode() + b"\n"
                if os.write(descriptor, text) != len(text):
                    raise LogError(f"{self.path}: the disk is full; resume the run when there is room")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as fault:
            raise LogError(f"{self.path}: cannot be written ({fault.strerror})") from None
        self._take(line)
