"""The parts of a report, read as text: what they say about a run that is known."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import delivery
from toolbench.domain.codes import CODES
from toolbench.domain.config import Config
from toolbench.errors import InputError
from toolbench.numbers.gates import default_gates
from toolbench.running.runner import run_matrix_sync
from toolbench.showing import html, plots, sections
from toolbench.showing.checklist import checklist
from toolbench.showing.deciding import choosing
from toolbench.showing.dossier import Dossier
from toolbench.showing.failure_index import failures
from toolbench.showing.families import FAMILIES, family_of
from toolbench.showing.front import PARTS, badness, contents, front, matrix, part, verdict, warnings
from toolbench.showing.limits import LIMITS, limits
from toolbench.showing.matrix import cases
from toolbench.showing.model_blocks import BLOCKS, blocks, cost
from toolbench.showing.paired_effects import between, effects
from toolbench.showing.repetitions import consistency
from toolbench.showing.talks import spelt_out
from toolbench.showing.view import Arm
from toolbench.showing.words import LANGS, NOTHING, Words, _texts

STYLE = Path(sections.__file__).with_name("templates") / "report" / "style.css"
BASELINES = {"always_silent": "quiet-1", "keyword_router": "router-7b"}


def changed(folder: Path, run: Path, change: Callable[[dict[str, Any]], None], **header: Any) -> Path:
    """Write a run anew with its attempts changed, and return its folder."""
    lines = [json.loads(line) for line in (run / "attempts.jsonl").read_text().splitlines()]
    lines[0] |= {"seal": None, **header}
    for line in lines[1:]:
        change(line)
    folder.mkdir(exist_ok=True)
    (folder / "attempts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run in which two baselines play models, on this machine and not."""
    conditions = ["auto", "reversed", "forced", "no_tools"]
    return with_models(tmp_path_factory.mktemp("sections"), {"conditions": conditions, "repetitions": 2})


def with_models(folder: Path, data: dict[str, Any]) -> Path:
    """Play the baselines on the base cases and return a run that two of them play as models."""
    made = folder / "made"
    given = {"runs": [], "cases": {"tags": ["base"]}, **data}
    run_matrix_sync(Config.from_json(given, "c"), [delivery("en")], made)
    header = json.loads((made / "attempts.jsonl").read_text().split("\n", 1)[0])
    entries = []
    for player in header["players"]:
        if player["model"] in BASELINES:
            player |= {"provider": "lab", "model": BASELINES[player["model"]]}
            own = player["model"] == "router-7b"
            address = "embedded:" if own else "https://models.example/v1"
            entries.append({**player, "base_url": address, "settings": {}, "extra_body": {}})
    config = {**header["config"], "runs": entries}

    def rename(attempt: dict[str, Any]) -> None:
        if attempt["model"] in BASELINES:
            attempt |= {"provider": "lab", "model": BASELINES[attempt["model"]]}
        attempt["hashes"].pop("header", None)

    gates = default_gates()
    return changed(made.parent / "run", made, rename, players=header["players"], config=config, gates=gates)


@pytest.fixture(scope="module")
def dossier(run: Path) -> Dossier:
    return Dossier(run)


def test_every_sentence_is_there_in_both_languages_with_the_same_gaps() -> None:
    for key, entry in _texts().items():
        assert set(entry) == set(LANGS), key
        gaps = {lang: re.findall(r"\{(\w+)(?::([^{}]+))?\}", entry[lang]) for lang in LANGS}
        assert sorted(name for name, _ in gaps["en"]) == sorted(name for name, _ in gaps["ru"]), key
        for lang, number in (("en", 2), ("ru", 3)):
            assert all(len(forms.split("|")) == number for _, forms in gaps[lang] if forms), key
        assert all(entry[lang].strip() for lang in LANGS), key


def test_a_language_without_words_is_refused() -> None:
    with pytest.raises(InputError, match="no report in 'de'; there are: en, ru"):
        Words("de")


def test_every_code_belongs_to_a_family_with_a_colour_and_a_hatch() -> None:
    style = STYLE.read_text()
    assert {family_of(code) for code in CODES} <= set(FAMILIES)
    for name in FAMILIES:
        assert style.count(f"--{name}:") == 3, "in light, in dark and on paper"
        rule = re.search(rf"\.f-{name} {{([^}}]*)}}", style)
        assert rule
        assert name == "decision" or "background-image" in rule[1]


def test_models_come_first_and_baselines_are_one_named_floor(dossier: Dossier) -> None:
    assert dossier.subjects == ["quiet-1", "router-7b"]
    assert dossier.floor == ["always_first_tool", "random_tool"]
    rows = matrix(dossier).text.splitlines()
    assert [row.split()[0] for row in rows if row.strip()][2:5] == ["quiet-1", "router-7b", "baseline"]
    assert "(random_tool)" in rows[-1] or "(always_first_tool)" in rows[-1]


def test_the_table_of_gates_names_the_worst_place_of_each(dossier: Dossier) -> None:
    gate = next(one for one in dossier.gates_of["router-7b"] if one.metric == "unsafe_call_rate")
    base = replace(gate, outcome="fail", condition="auto", value=0.17)
    least = replace(gate, outcome="pass", condition="no_hints", value=0.9)
    worst = replace(gate, outcome="fail", condition="reversed", value=0.5)
    assert sorted([least, base, worst], key=badness) == [worst, base, least]
    share = replace(gate, metric="pass_rate", limit="≥ 0.9", outcome="fail")
    low, high = replace(share, value=0.1), replace(share, value=0.6)
    assert min(high, low, key=badness) is low


def test_what_nobody_completed_has_no_cost(dossier: Dossier) -> None:
    arm = next(iter(dossier.main))
    rows = dict(dossier.figures["router-7b", arm])
    assert "router-7b" in dossier.free
    assert cost(dossier, "router-7b", arm, rows) == "0"
    rows["completion_rate"] = {**rows["completion_rate"], "numerator": 0}
    assert cost(dossier, "router-7b", arm, rows) == NOTHING


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ('{"to": "\\u041a\\u0430\\u0437\\u0430\\u043d\\u044c"}', '{"to": "Казань"}'),
        (r'{"a": "\\u041a"}', r'{"a": "\\u041a"}'),
        (r'{"a": "\u0000\u202e"}', r'{"a": "\u0000\u202e"}'),
    ],
)
def test_escaped_letters_of_arguments_are_spelt_out(raw: str, shown: str) -> None:
    assert spelt_out(raw) == shown


def test_the_first_screen_says_verdict_warnings_models_matrix_and_contents_in_this_order(
    dossier: Dossier,
) -> None:
    page = front(dossier).html
    marks = ['class="verdict', 'class="warning', '<ul class="models">', 'class="matrix"', 'class="contents"']
    places = [page.index(mark) for mark in marks]
    assert places == sorted(places)
    assert [f'href="#{name}"' in contents(dossier).html for name in PARTS] == [True] * len(PARTS)
    assert page.index("no model passes") < page.index("Small sample")


def test_a_sentence_tells_what_is_right_where_it_breaks_and_what_it_costs(dossier: Dossier) -> None:
    told = front(dossier).text
    assert re.search(
        r"router-7b\. Passes 12 of 18 attempts \(67 %\) in delivery · en\. Always right in \w+", told
    )
    assert "Costs nothing: it runs on this machine." in told
    assert "Cost unknown" in told


def test_the_verdict_says_when_no_gates_were_fixed(run: Path, tmp_path: Path) -> None:
    later = Dossier(changed(tmp_path / "none", run, lambda _: None, gates=None))
    assert verdict(later).text.startswith("No gates were fixed before the run, so nothing is decided.")
    assert 'class="verdict plain"' in verdict(later).html


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"status": "unsupported", "stop": "unsupported"}, "unsupported by its provider"),
        ({"status": "transport_error", "stop": "timeout"}, "INCOMPLETE: 18 attempts ended in transport"),
    ],
    ids=["unsupported", "transport"],
)
def test_what_has_no_verdict_is_a_warning_and_never_a_failure(
    change: dict[str, str], expected: str, run: Path, tmp_path: Path
) -> None:
    def lose(attempt: dict[str, Any]) -> None:
        if attempt["model"] == "router-7b" and attempt["condition"] == "auto":
            error = {"code": "x", "message": "tool_choice is refused by this model", "status": 400}
            attempt |= {**change, "turns": [], "calls": [], "error": error}

    lost = Dossier(changed(tmp_path / "lost", run, lose))
    told = "\n".join(line for _, line in warnings(lost))
    assert expected in told
    assert "router-7b: only" in told
    assert lost.talks.link("router-7b", lost.main[0], "direct_lookup") is None
    if change["status"] == "unsupported":
        assert "tool_choice is refused by this model" in blocks(lost).text


def test_a_call_in_the_control_is_the_first_thing_said(run: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (run / "attempts.jsonl").read_text().splitlines()][1:]
    donor = next(a for a in lines if a["condition"] == "auto" and a["calls"] and a["model"] == "router-7b")

    def call(attempt: dict[str, Any]) -> None:
        same = all(attempt[name] == donor[name] for name in ("model", "case_id", "repetition"))
        if attempt["condition"] == "no_tools" and same:
            attempt |= {name: donor[name] for name in ("turns", "calls", "stop")}

    kinds = list(warnings(Dossier(changed(tmp_path / "control", run, call))))
    assert kinds[0][0] == "bad"
    assert "1 call was reported in the control" in kinds[0][1]


def test_a_model_has_three_labelled_blocks_and_all_figures(dossier: Dossier) -> None:
    text = blocks(dossier).text
    for label in ("Block 1. Arguments", "Block 2. Order of calls", "Block 3. Final answer"):
        assert text.count(label) >= len(dossier.subjects)
    columns = {name for block in BLOCKS for name in block.columns}
    assert {"precision", "recall", "p50", "p95", "tokens", "cost", "permanent", "temporary"} <= columns
    row = dossier.figures["router-7b", dossier.main[0]]["pass_rate"]
    assert f"67 % ({row['numerator']:.0f}/{row['denominator']:.0f}" in text
    assert "Five flags" in text
    assert "By class of cases" in text
    assert "The floor: baselines" in text


def test_languages_and_conditions_are_never_merged(dossier: Dossier) -> None:
    assert dossier.main == [Arm("delivery", "en", "auto")]
    assert {arm.condition for arm in dossier.arms} == {"auto", "reversed", "forced"}
    assert "The same under the other conditions (2)" in blocks(dossier).text


def test_every_failed_cell_leads_to_its_conversation_and_no_passed_one_does(dossier: Dossier) -> None:
    page = html.join(cases(dossier)).html
    talks = dossier.talks.on_page().html
    for arm in dossier.arms:
        for (player, case), (scored, passed, _) in dossier.by_case(arm).items():
            link = dossier.talks.link(player, arm, case)
            if player in dossier.subjects and passed < scored:
                assert link is not None
                assert f'<a href="{link}">{passed}/{scored}</a>' in page
                assert f'id="{link[1:]}"' in talks
            else:
                assert link is None
    assert page.count("<input type=radio") == 3 * len(dossier.arms)


def test_a_conversation_shows_question_call_result_answer_finding_and_raw(dossier: Dossier) -> None:
    page = dossier.talks.on_page().html
    assert "Check order ORD-123456." in page
    assert "The model answered in words where a call was due." in page
    assert "Expected: a call; got:" in page
    assert 'href="#code-missed_call"' in page
    assert "raw responses" in page
    assert "repetition 1, 2" in page
    assert "$." not in re.sub(r"<pre>.*?</pre>", "", page)


def test_failures_count_models_only_and_name_small_parts_by_nothing(dossier: Dossier) -> None:
    page = failures(dossier)
    assert "always_first_tool" not in page.text
    assert 'id="code-missed_call"' in page.html
    assert "Were the tools in the request" in page.html
    assert "passed" in page.html


def test_a_paired_effect_has_interval_and_p_and_uses_only_common_cases(dossier: Dossier) -> None:
    page = effects(dossier)
    assert re.search(r"router-7b +delivery · en +auto → forced", page.text)
    assert "p, Holm" in page.text
    assert 'class="forest"' in page.html


def test_conditions_with_other_numbers_of_repetitions_are_compared_and_each_case_counts_once(
    tmp_path: Path,
) -> None:
    conditions = [{"name": "auto", "repetitions": 1}, {"name": "reversed", "repetitions": 3}]
    view = Dossier(with_models(tmp_path, {"conditions": conditions}))
    assert set(view.view.attempts.groupby("condition").size() // 36) == {1, 3}
    text = effects(view).text
    assert "Not compared" not in text
    passes = text.split("Does the behaviour change", 1)[0]
    rows = [line for line in passes.splitlines() if "auto → reversed" in line]
    assert len([row for row in rows if "9 (9)" in row]) == 2, text


def test_choosing_drops_no_row_and_says_why_a_model_is_not_compared(dossier: Dossier) -> None:
    text = choosing(dossier).text
    assert "0 (own machine)" in text
    assert text.count("delivery · en") >= 2
    assert "not compared: cost unknown" in text or "not compared: breaks a gate" in text


def test_every_two_models_are_compared_with_p_and_neither_comes_before_the_other(dossier: Dossier) -> None:
    (row,) = [line for line in between(dossier).text.splitlines() if "quiet-1 → router-7b" in line]
    assert re.search(r"11 % +67 % +\+56", row)
    assert "9 (9)" in row
    assert "before" not in between(dossier).text
    assert "Is the difference between two models real?" in choosing(dossier).text


def test_consistency_covers_every_repeated_arm(dossier: Dossier) -> None:
    rows = consistency(dossier).text
    for arm in ("auto", "reversed", "forced"):
        assert f"delivery · en · {arm}" in rows
    assert "k = 2" in rows


def test_the_eight_limits_have_this_runs_facts(dossier: Dossier) -> None:
    text = limits(dossier).text
    assert len(LIMITS) == 8
    assert len(text.splitlines()) == 8
    assert "9 cases" in text
    assert dossier.view.header.started_at[:10] in text
    assert "Only en was run" in text
    assert "forced" in text


@pytest.mark.parametrize("lang", LANGS)
def test_every_part_is_told_in_every_language_and_leaves_no_gap(lang: str, run: Path) -> None:
    told = Dossier(run, lang)
    made = [front, blocks, failures, effects, choosing, consistency, limits]
    text = "\n".join(make(told).text for make in made) + "".join(part(told, name).text for name in PARTS)
    assert not re.search(r"\{\w+\}", text)
    if lang == "ru":
        english = re.findall(r"\b(?:attempts|model|figure|cases|passed|costs|tokens|before|after)\b", text)
        assert english == []


def test_every_item_of_the_checklist_is_computed(dossier: Dossier) -> None:
    items = {item.question: item for item in checklist(dossier)}
    assert len(items) >= 15
    assert items["absence of calls checked on ambiguous cases"].state == "yes"
    assert items["tool permutation run"].evidence == "reversed"


def test_an_interrupted_run_says_incomplete_first(tmp_path: Path, run: Path) -> None:
    log = (run / "attempts.jsonl").read_bytes().split(b"\n")
    (tmp_path / "attempts.jsonl").write_bytes(b"\n".join(log[:40]) + b"\n")
    partial = Dossier(tmp_path)
    first = next(iter(warnings(partial)))
    assert first[0] == "bad"
    assert re.match(r"INCOMPLETE: \d+ of \d+ planned attempts were not made", first[1])
    summary = sections.summary(partial.view).text
    assert summary.index("INCOMPLETE") < summary.index("models")


def test_plots_say_in_words_what_they_show(dossier: Dossier) -> None:
    page = sections.heatmap(dossier.view, dossier.main[0])
    assert "router-7b:" in page.text
    assert 'alt="delivery' in page.html


def test_cases_are_ordered_by_difficulty(dossier: Dossier) -> None:
    frame = dossier.view.at(dossier.view.attempts, dossier.main[0])
    order = plots.case_order(frame)
    share = frame.groupby("case_id")["passed"].mean()
    assert [share[case] for case in order] == sorted(share, reverse=True)
