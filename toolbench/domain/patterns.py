"""Regular expressions out of a suite's files, run with a bound: a file decides what is sought, not how long.

Python's own engine cannot be stopped once it has begun; this one gives up by itself.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import regex

from toolbench.errors import PatternTooSlow, SuiteError

SECONDS = 1.0
"""What one search may take; a search that is not a trap takes microseconds."""


@dataclass(frozen=True)
class Pattern:
    """A compiled pattern."""

    source: str
    compiled: Any

    def search(self, text: str, seconds: float = SECONDS) -> bool:
        """Whether the pattern occurs in a text.

        Raises
        ------
        PatternTooSlow
            When that cannot be said in time: a fault of the pattern, never of who wrote the text.
        """
        try:
            return self.compiled.search(text, timeout=seconds) is not None
        except TimeoutError:
            shown = f"{self.source[:100]!r} was still searching {len(text)} characters"
            raise PatternTooSlow(f"the pattern {shown} after {seconds:g} s") from None


@cache
def pattern(source: str, ascii_only: bool = False) -> Pattern:
    """Return a pattern as Python's ``re`` reads it.

    Raises
    ------
    SuiteError
        When it is no regular expression.
    """
    try:
        # What the wider engine reads and Python's does not (a lookbehind of any width) is refused.
        with warnings.catch_warnings():
            # "[[a]" is a set as it stands; that a later Python may read it otherwise is nothing to tell here.
            warnings.simplefilter("ignore", FutureWarning)
            re.compile(source)
        return Pattern(source, regex.compile(source, regex.VERSION0 | (regex.ASCII if ascii_only else 0)))
    except (re.error, regex.error, ValueError, OverflowError, RecursionError) as fault:
        raise SuiteError(f"{source[:100]!r} is not a regular expression: {fault}") from None


def is_trap(source: str, seconds: float = 0.05, length: int = 2000) -> bool:
    """Whether a pattern's time explodes: measured, on long texts that almost match it.

    Two quantifiers that can share the same characters try every division between them before they fail; a
    long run of one of the pattern's own characters with a stranger at the end shows it.
    """
    found = pattern(source)
    letters = dict.fromkeys(c for c in source[:200] if c.isalnum() or c in " _-.,@/:")
    for letter in [*letters, "a", "0", " "]:
        try:
            found.search(letter * length + "\0", seconds)
        except PatternTooSlow:
            return True
    return False
