"""How the course lays things out: JSON that is easy to read, panels side by side, marked boxes.

Styles are inline, because a notebook has no style sheet of its own, and none of them sets a background: they
have to be readable on a dark page as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

import pandas as pd
from markupsafe import Markup

from toolbench.domain.canonical import JSON
from toolbench.showing import html
from toolbench.showing.html import Page, join, visible

WIDTH = 64
"""Characters up to which an object stays on one line."""
CUT = 150
"""Characters of a string that are shown."""

_TEXT = "text-align:left;vertical-align:top;overflow-wrap:break-word"
_NUMBER = "text-align:right;vertical-align:top;white-space:nowrap"
# JupyterLab breaks words in the middle unless told not to.
_WRAPPED = "white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere"
_PRE = f"{_WRAPPED};font-size:.8rem;line-height:1.35;margin:.2rem 0"
_GRID = (
    "display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,{}rem),1fr));"
    "gap:.9rem;align-items:start"
)
_BOXES = {"good": ("#009E73", "✔"), "bad": ("#D55E00", "✘"), "note": ("#0072B2", "›")}
"""Kind → colour and sign: the sign tells the kinds apart without the colour."""


def pretty(value: JSON, cut: int = CUT) -> str:
    """Return JSON with small objects inside on one line and long strings cut."""
    return "\n".join(_lines(_short(value, cut), ""))


def _lines(value: JSON, indent: str) -> Iterator[str]:
    flat = json.dumps(value, ensure_ascii=False)
    fits = bool(indent) and len(indent) + len(flat) <= WIDTH
    if not value or not isinstance(value, dict | list) or fits:
        yield indent + flat
        return
    pairs: list[tuple[str, JSON]] = (
        [(json.dumps(key, ensure_ascii=False) + ": ", inner) for key, inner in value.items()]
        if isinstance(value, dict)
        else [("", inner) for inner in value]
    )
    first, last = "{}" if isinstance(value, dict) else "[]"
    yield indent + first
    for index, (name, inner) in enumerate(pairs):
        comma = "," if index < len(pairs) - 1 else ""
        head, *rest = _lines(inner, indent + "  ")
        block = [f"{indent}  {name}{head.lstrip()}", *rest]
        yield from block[:-1]
        yield block[-1] + comma
    yield indent + last


def _short(value: JSON, cut: int) -> JSON:
    if isinstance(value, str):
        return value if len(value) <= cut else value[:cut] + "…"
    if isinstance(value, dict):
        return {key: _short(inner, cut) for key, inner in value.items()}
    if isinstance(value, list):
        return [_short(inner, cut) for inner in value]
    return value


def table(frame: pd.DataFrame, caption: str = "", numbers: Sequence[str] = ()) -> Page:
    """Return a frame as a table for a notebook: texts to the left and from the top, numbers to the right.

    JupyterLab aligns every cell to the right, and takes what stands between two dollar signs for mathematics.
    """
    page = html.table(frame, caption, numbers)
    shown = str(page.html)
    for tag, style in (("<td>", _TEXT), ('<td class="n">', _NUMBER), ('<th scope="col">', _TEXT)):
        shown = shown.replace(tag, f'{tag[:-1]} style="{style}">')
    # Nothing but the table's own tags is replaced: in a cell's text "<" is written as an entity.
    return Page(Markup('<div class="mathjax_ignore">{}</div>').format(Markup(shown)), page.text)


def code(text: str) -> Page:
    """Return text in its own line breaks, wrapped where it is too wide."""
    shown = visible(text)
    return Page(Markup('<pre style="{}">{}</pre>').format(_PRE, shown), shown)


def changed(before: str, after: str) -> Page:
    """Return the lines of ``after``, new ones marked with +, and those that are gone with −, struck out.

    A comma at the end of a line, which comes and goes with what follows, is no difference.
    """
    old, new = before.splitlines(), after.splitlines()
    bare_old, bare_new = ([line.rstrip(",") for line in side] for side in (old, new))
    matcher = SequenceMatcher(None, bare_old, bare_new, autojunk=False)
    marked_up, text = Markup(""), []
    for kind, a, b, c, d in matcher.get_opcodes():
        parts = (
            (("+", "ins", new[c:d]),) if kind == "equal" else (("−", "del", old[a:b]), ("+", "ins", new[c:d]))
        )
        for sign, tag, lines in parts:
            for line in lines:
                words = visible(line.lstrip())
                margin = f"{' ' if kind == 'equal' else sign} {' ' * (len(line) - len(line.lstrip()))}"
                text.append(margin + words)
                marked = words if kind == "equal" else Markup("<{0}>{1}</{0}>").format(Markup(tag), words)
                marked_up += Markup("{}{}\n").format(margin, marked)
    return Page(Markup('<pre style="{}">{}</pre>').format(_PRE, marked_up), "\n".join(text))


def json_page(value: JSON, cut: int = CUT) -> Page:
    """Return a JSON value to be read by people."""
    return code(pretty(value, cut))


def columns(panels: Sequence[tuple[str, Page]], width: float = 22) -> Page:
    """Return titled panels side by side, as many in a row as are ``width`` rem wide."""
    sections = Markup("").join(
        Markup('<section style="min-width:0"><strong>{}</strong>{}</section>').format(
            visible(title), page.html
        )
        for title, page in panels
    )
    text = "\n\n".join(f"{title}\n{page.text}" for title, page in panels)
    return Page(Markup('<div style="{}">{}</div>').format(_GRID.format(width), sections), text)


def box(kind: str, title: str, *inside: Page) -> Page:
    """Return a framed message: ``good``, ``bad`` or ``note``."""
    colour, sign = _BOXES[kind]
    body = join(inside)
    style = f"border-left:.3rem solid {colour};padding:.2rem .8rem;margin:.6rem 0"
    framed = Markup('<div style="{}"><strong>{} {}</strong>{}</div>').format(
        style, sign, visible(title), body.html
    )
    return Page(framed, f"{sign} {title}\n{body.text}".rstrip())
