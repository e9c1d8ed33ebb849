"""What the readiness checklist goes by, gathered from the records in one pass."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from toolbench.domain.record import Attempt, TurnRecord


@dataclass
class Evidence:
    """What one pass over all records gathers."""

    contracts: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    counts: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)

    def add(self, attempt: Attempt) -> None:
        self.contracts[attempt.suite].add(attempt.hashes["contract"])
        asked = [turn for turn in attempt.turns if not attempt.key.player.is_baseline]
        self.counts["turns"] += len(asked)
        for turn in asked:
            self.counts["requests kept"] += bool(turn.request.get("body")) and bool(turn.request_hash)
            self.counts["responses kept"] += bool(turn.response.get("text"))
            self.counts["losses"] += bool(turn.losses)
            self.counts["models named"] += turn.decision.returned_model is not None
            if turn.decision.returned_model:
                self.models[turn.decision.returned_model] += 1
        for call in attempt.calls:
            self.counts["unreadable calls"] += call.arguments is None
            self.counts["unreadable executed"] += call.arguments is None and call.states[-1] == "executed"
            result = call.result
            if result is not None and result.code is not None and call.rejection is None:
                self.counts["permanent errors" if result.permanent else "temporary errors"] += 1
        self._second_turns(attempt)

    def _second_turns(self, attempt: Attempt) -> None:
        following: dict[int, TurnRecord] = {turn.index: turn for turn in attempt.turns}
        for call in attempt.calls:
            after = following.get(call.turn + 1)
            if (
                call.turn < 0
                or call.result is None
                or after is None
                or attempt.protocol == "generate_content"
            ):
                continue
            self.counts["results handed back"] += 1
            self.counts["results with their id"] += call.id in str(after.request["body"])
