"""Reading what a server sends with a bound on what it may become: 1.8 KB can unpack to 3 GB."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from toolbench.errors import TransportError

STEP = 2**20
"""Bytes unpacked at once."""
ACCEPTED = "gzip, deflate"
"""What is asked for; a reply packed twice, or otherwise, is refused."""


class Unpacker:
    """Takes the bytes of one reply as they come and gives them back plain, up to a limit.

    Raises
    ------
    TransportError
        ``too_large`` beyond the limit, ``bad_encoding`` for a packing that was not asked for or is broken.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        names = [name.strip().lower() for name in encoding.split(",") if name.strip()]
        names = [name for name in names if name != "identity"]
        if len(names) > 1 or (names and names[0] not in ("gzip", "x-gzip", "deflate")):
            raise TransportError("bad_encoding", f"the reply is packed as {encoding[:60]!r}", retryable=True)
        self._limit, self._size = limit, 0
        # 32 + 15: a gzip or a zlib header, whichever is there.
        self._zlib = zlib.decompressobj(47) if names else None

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the plain bytes behind a chunk, in bounded pieces."""
        if self._zlib is None:
            yield self._counted(chunk)
            return
        while chunk:
            try:
                piece = self._zlib.decompress(chunk, STEP)
            except zlib.error as fault:
                raise TransportError(
                    "bad_encoding", f"the reply cannot be unpacked: {fault}", retryable=True
                ) from None
            yield self._counted(piece)
            chunk = self._zlib.unconsumed_tail

    def _counted(self, piece: bytes) -> bytes:
        self._size += len(piece)
        if self._size > self._limit:
            raise TransportError("too_large", f"the reply is longer than {self._limit} bytes", 200)
        return piece
