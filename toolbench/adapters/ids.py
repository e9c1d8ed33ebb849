"""Call ids: filling in missing ones and spelling foreign ones as a server wants them, always the same way."""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolbench.domain.canonical import JSON, sha256


def call_ids(
    given: Sequence[JSON], taken: Sequence[JSON] = (), unique: bool = False
) -> list[tuple[str, bool]]:
    """Return ``(id, synthesized)`` for the calls of one reply.

    An id that is missing, empty, ``"null"``, no string or repeated within the reply becomes ``call_<n>``;
    ``n`` counts on from the history's calls (``taken``, one entry a call). On wires where an id has to be
    ``unique`` in the whole history, so does an id that was used before.
    """
    before = {id_ for id_ in taken if isinstance(id_, str)}
    known = before | {id_ for id_ in given if isinstance(id_, str)}
    used = set(before) if unique else set()
    ids: list[tuple[str, bool]] = []
    number = len(taken)
    for index, id_ in enumerate(given):
        if isinstance(id_, str) and id_ not in ("", "null") and id_ not in used:
            used.add(id_)
            ids.append((id_, False))
            continue
        number = max(number, len(taken) + index)
        while f"call_{number}" in known | used:
            number += 1
        used.add(f"call_{number}")
        ids.append((f"call_{number}", True))
    return ids


def legal_id(id_: str, pattern: str | None) -> str:
    """Return the id itself when the server takes it, else nine letters and digits made from it."""
    return id_ if pattern is None or re.search(pattern, id_) else sha256(id_)[:9]
