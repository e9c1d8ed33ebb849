"""Failures worth keeping: failing attempts become cases of a permanent regression suite."""

from __future__ import annotations

from collections.abc import Collection

from toolbench.domain.canonical import JSON, canonical_json
from toolbench.errors import InputError
from toolbench.numbers.frames import ScoredRun
from toolbench.numbers.rows import GROUP, of_models
from toolbench.numbers.tables import records

TAG = "regression"


def promote(
    scored: ScoredRun,
    suite: str,
    lang: str,
    *,
    codes: Collection[str] = (),
    baselines: bool = False,
    taken: Collection[str] = (),
    origins: Collection[str] = (),
) -> str:
    """Return the lines of a case file with one case for every case that failed in a run.

    A case that several models, repetitions or runs failed on is taken once; ``origin`` keeps where it comes
    from: the run, the original id and origin, and every failed attempt with its codes. The expectation is the
    original one: the case is right, the models were not.

    Parameters
    ----------
    suite, lang
        Which part of the run; a case file holds one suite and language.
    codes
        Only failures with one of these codes.
    baselines
        Whether failures of the baselines count.
    taken
        Ids that are in use in the regression suite already: these get the next free number.
    origins
        Hashes of cases that the regression suite has already, from whatever run: these are not taken again.

    Raises
    ------
    InputError
        When no attempt of this part failed (in that way).
    """
    attempts = scored.attempts
    failed = attempts[
        (attempts["suite"] == suite)
        & (attempts["lang"] == lang)
        & (attempts["passed"] == 0)
        & ~attempts["control"]
        & (baselines | of_models(attempts))
    ]
    if codes:
        failed = failed[[bool(set(found) & set(codes)) for found in failed["codes"]]]
    header = scored.log.header
    if failed.empty:
        what = f"{suite}/{lang} failed" + (f" with {' or '.join(sorted(codes))}" if codes else "")
        who = "no attempt" if baselines else "baselines are left out, and no other attempt"
        raise InputError(f"run {header.run_id}: nothing to promote: {who} at {what}")
    cases = header.load_suites()[suite].case_by_key
    used = set(taken)
    lines = []
    # Sorted, because the order of a log depends on timing when several attempts run at once.
    for case_id, group in failed.groupby("case_id", sort=True):
        case = cases[lang, str(case_id)]
        if case.hash in origins:
            continue
        source = dict(case.source)
        identity = _free_id(str(case_id), header.run_id, used)
        used.add(identity)
        source["id"] = identity
        source["tags"] = sorted({*source.get("tags", ()), TAG})
        source["origin"] = {
            "run_id": header.run_id,
            "case_id": str(case_id),
            "case_hash": case.hash,
            "case_origin": source.get("origin"),
            "attempts": sorted((_attempt(row) for row in records(group)), key=canonical_json),
        }
        lines.append(canonical_json(source) + "\n")
    return "".join(lines)


def _attempt(row: dict[str, JSON]) -> dict[str, JSON]:
    key = "/".join([*(str(row[name]) for name in GROUP), str(row["case_id"]), str(row["repetition"])])
    return {"key": key, "codes": list(row["codes"])}


def _free_id(case_id: str, run_id: str, used: Collection[str]) -> str:
    """Return ``<case>.reg-<run>``, shortened to what the case schema allows, with a number if taken."""
    allowed = "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "-" for c in run_id)
    wanted = f"{case_id[:60]}.reg-{allowed[:30]}"
    number, name = 1, wanted
    while name in used:
        number += 1
        name = f"{wanted}-{number}"
    return name
