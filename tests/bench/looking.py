"""Sequential runs: false alarms under continuous looking, and what stopping early saves.

``python -m tests.bench.looking`` prints the table of the README.
"""

from __future__ import annotations

import numpy as np

from toolbench.numbers.sequence import Rule, confidence_sequence, stops

ROUNDS = 20
CASES = 40


def play(rng: np.random.Generator, rates: np.ndarray, shift: float, lost: float = 0.0) -> tuple[str, int]:
    """Play one run of two models; return why and after how many rounds it stopped."""
    rule = Rule("model=a", "model=b", ROUNDS)
    rounds = []
    for _ in range(ROUNDS):
        left = (rng.random(CASES) < rates).astype(float)
        right = (rng.random(CASES) < np.clip(rates + shift, 0, 1)).astype(float)
        # Not at random: only failures of the right side are lost.
        gone = (right == 0) & (rng.random(CASES) < lost)
        rounds.append((np.where(gone, 0, right) - left, np.where(gone, 1, right) - left))
    path = confidence_sequence(rounds)
    for number in range(1, ROUNDS + 1):
        why = stops(rule, path[:number])
        if why is not None:
            return why, number
    raise AssertionError("the budget ends every run")


def study(shift: float, lost: float = 0.0, runs: int = 200, seed: int = 20261130) -> tuple[float, float]:
    """Return the share of runs that end with "differs", and the mean number of rounds."""
    rng = np.random.default_rng(seed)
    found = [play(rng, rng.beta(2, 1, CASES), shift, lost) for _ in range(runs)]
    return float(np.mean([why == "differs" for why, _ in found])), float(np.mean([n for _, n in found]))


def main() -> None:
    """Print one line per situation."""
    print(f"{CASES} cases, at most {ROUNDS} rounds, looked at after each")
    for shift, lost in ((0.0, 0.0), (0.0, 0.1), (-0.1, 0.0), (-0.2, 0.0), (-0.4, 0.0)):
        share, rounds = study(shift, lost)
        print(f"true difference {shift:+.2f}, lost {lost:.0%}: differs {share:.3f}, rounds {rounds:.1f}")


if __name__ == "__main__":
    main()
