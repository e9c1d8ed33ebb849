"""Which attempts are samples of their own: a reply that comes twice was a cache's, and tells nothing new."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b

from toolbench.domain.canonical import canonical_json, sha256
from toolbench.domain.keys import AttemptKey, PlayerKey
from toolbench.domain.plurals import plural
from toolbench.domain.record import Attempt, TurnRecord

TELLING = re.compile(r"[A-Za-z0-9]{6,}$")
"""An id whose last part is shorter says nothing: some servers count to a thousand and start again."""


def replies(attempt: Attempt) -> Iterator[int]:
    """Yield a number for each reply of a played attempt whose id tells something.

    Replies of the same player and id have the same number, so that two readers of parts of a log can see
    from few bytes whether they have met one reply (63 bits of a hash of player and id).
    """
    if attempt.status == "ok":
        for turn in attempt.turns:
            if id_ := _telling(turn):
                name = "\0".join((*attempt.key.player, id_)).encode("utf-8", "surrogatepass")
                yield int.from_bytes(blake2b(name, digest_size=8).digest()) >> 1


def _telling(turn: TurnRecord) -> str | None:
    id_ = turn.decision.response_id
    return id_ if id_ is not None and TELLING.search(id_) else None


class Replies:
    """The replies of a run so far, by the ids that their servers gave them."""

    def __init__(self) -> None:
        self._seen: dict[tuple[PlayerKey, str], tuple[AttemptKey, str, str]] = {}
        self._cached: Counter[PlayerKey] = Counter()
        self._reused: Counter[PlayerKey] = Counter()

    def came_before(self, attempt: Attempt) -> AttemptKey | None:
        """Return the attempt that got every reply of this one before, ``None`` if there is none.

        The same request has then got a reply of the same id and content. An id that comes again with another
        content is only counted.
        """
        if attempt.status != "ok":
            return None
        firsts = [self._first(attempt.key, turn) for turn in attempt.turns]
        if not firsts or None in firsts:
            return None
        self._cached[attempt.key.player] += 1
        return firsts[0]

    def _first(self, key: AttemptKey, turn: TurnRecord) -> AttemptKey | None:
        """Return the other attempt that has had this very reply; remember it when there is none."""
        id_ = _telling(turn)
        if id_ is None:
            return None
        said = [turn.decision.text, [[call.name, call.raw_arguments] for call in turn.decision.calls]]
        mine = turn.request_hash, sha256(canonical_json(said))
        owner, *content = self._seen.setdefault((key.player, id_), (key, *mine))
        if owner == key:
            return None
        if tuple(content) != mine:
            self._reused[key.player] += 1
            return None
        return owner

    def lines(self) -> Iterator[str]:
        """Yield what a reader of the figures has to know about ids that came twice."""
        for player, number in self._cached.items():
            yield (
                f"cache: {player}: {plural(number, 'attempt')} got the reply, with its id, of an earlier "
                "repetition; each such reply counts once"
            )
        for player, number in self._reused.items():
            replies = plural(number, "reply", "replies")
            yield f"ids: {player}: {replies} with the id of another reply and another content"
