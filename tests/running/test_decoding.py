"""What a reply may become is bounded before anything is unpacked or parsed."""

import gzip
import json
import time
import tracemalloc
import zlib

import httpx
import pytest

from tests.running.test_transport import ADAPTER, REQUEST
from tests.support import MODEL, said
from toolbench.adapters.faults import classify
from toolbench.errors import TransportError
from toolbench.running.decoding import Unpacker
from toolbench.running.redaction import Redactor
from toolbench.running.transport import LARGEST_REPLY, Transport


def unpacked(packed: bytes, encoding: str, limit: int = 10**6) -> bytes:
    return b"".join(Unpacker(encoding, limit).feed(packed))


@pytest.mark.parametrize(
    ("packed", "encoding"),
    [(gzip.compress(b"hi"), "gzip"), (zlib.compress(b"hi"), "deflate"), (b"hi", "identity"), (b"hi", "")],
    ids=["gzip", "deflate", "identity", "none"],
)
def test_what_was_asked_for_is_unpacked(packed: bytes, encoding: str) -> None:
    assert unpacked(packed, encoding) == b"hi"


def test_a_bomb_ends_at_the_limit_in_bounded_memory() -> None:
    bomb = gzip.compress(b"\0" * 300 * 2**20)
    tracemalloc.start()
    with pytest.raises(TransportError) as error:
        for _ in Unpacker("gzip", LARGEST_REPLY).feed(bomb):
            pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert error.value.code == "too_large"
    assert peak < 8 * 2**20


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd", "gzip,deflate,gzip"])
def test_what_is_packed_twice_or_otherwise_is_refused(encoding: str) -> None:
    with pytest.raises(TransportError) as error:
        unpacked(b"x", encoding)
    assert error.value.code == "bad_encoding"


def test_broken_packing_ends_one_attempt() -> None:
    with pytest.raises(TransportError, match="cannot be unpacked"):
        unpacked(b"no gzip at all", "gzip")


@pytest.mark.parametrize(
    "body", ["<" * 1_000_000, "<a " * 300_000, "<!" + "-" * 1_000_000], ids=["lt", "tags", "dashes"]
)
def test_an_error_page_of_any_kind_is_read_at_once(body: str) -> None:
    started = time.process_time()
    classify(500, {}, body)
    assert time.process_time() - started < 1


async def ask(response: httpx.Response, stream: bool = False) -> dict[str, object]:
    from dataclasses import replace

    async with Transport(
        Redactor([]), retries={"tries": 1}, transport=httpx.MockTransport(lambda request: response)
    ) as transport:
        return dict((await transport.send(MODEL, ADAPTER, replace(REQUEST, stream=stream))).body)


@pytest.mark.parametrize("kind", ["APPLICATION/JSON; charset=utf-8", "application/json", "", "text/plain"])
async def test_a_whole_reply_to_a_stream_request_is_a_reply_whatever_it_calls_itself(kind: str) -> None:
    headers = {"content-type": kind} if kind else {}
    reply = httpx.Response(200, content=json.dumps(said("hi")).encode(), headers=headers)
    assert await ask(reply, stream=True) == said("hi")
