"""The only way model text reaches a page: escaped, in plain HTML without scripts.

Never hand model text to ``IPython.display.HTML`` or ``Markdown``, to a pandas Styler or to an HTML widget:
each of them runs what is in it.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import pandas as pd
from markupsafe import Markup, escape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEFT = "<style>.tb th, .tb td { text-align: left } .tb td.n { text-align: right }</style>"


@dataclass(frozen=True)
class Page:
    """A piece of safe HTML with a plain-text form, made visible; notebooks show it by themselves.

    ``figures`` are the plots in it, as objects to save in another format or to change.
    """

    html: Markup
    text: str
    figures: tuple[Figure, ...] = field(default=(), compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", visible(self.text))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        # JupyterLab sets every cell of a table to the right; text belongs to the left.
        return {"text/html": f'<div class="tb">{LEFT}{self.html}</div>', "text/plain": self.text}

    def __add__(self, other: Page) -> Page:
        return Page(
            self.html + other.html, f"{self.text}\n{other.text}", figures=self.figures + other.figures
        )


@dataclass(frozen=True)
class Cell(Page):
    """A cell of a table that has a class of the style sheet."""

    kind: str = ""


ISLAND = 4
"""Words that must stay between two changes for these to be shown apart."""
_WORDS = re.compile(r"\S+|\s+")


def join(pages: Iterable[Page]) -> Page:
    """Return pages one after another."""
    pages = list(pages)
    return Page(
        Markup("").join(page.html for page in pages),
        "".join(f"\n{page.text}" for page in pages),
        figures=tuple(figure for page in pages for figure in page.figures),
    )


def visible(text: object) -> str:
    """Return text with control and direction characters made visible, so that it cannot disguise itself."""
    text = str(text)
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in "\n\t" else f"\\u{ord(character):04x}"
        for character in text
    )


def esc(text: object) -> Markup:
    """Return text as it may stand in a page, between tags or in a quoted attribute."""
    return escape(visible(text))


EMPTY = Page(Markup(""), "")


def heading(text: str, level: int = 2, anchor: str | None = None) -> Page:
    """Return a heading."""
    tag = Markup(f"h{int(level)}")
    mark = Markup(' id="{}"').format(anchor) if anchor else Markup("")
    return Page(Markup("<{}{}>{}</{}>").format(tag, mark, visible(text), tag), f"\n{text}\n")


def paragraph(text: str, kind: str = "") -> Page:
    """Return a paragraph; ``kind`` is a class of the report's style sheet (``note``, ``warning``)."""
    return Page(Markup('<p class="{}">{}</p>').format(visible(kind), visible(text)), text)


def preformatted(text: str, limit: int = 4000, kind: str = "") -> Page:
    """Return text as it is, cut to ``limit`` characters with the cut said; ``kind`` is a style class."""
    shown = visible(text[:limit]) + (f"\n… {len(text) - limit} more characters" if len(text) > limit else "")
    mark = Markup(' class="{}"').format(kind) if kind else Markup("")
    return Page(Markup("<pre{}>{}</pre>").format(mark, shown), shown)


def difference(before: str, after: str) -> Page:
    """Return two versions of a text as one: struck out is gone, underlined is new.

    Words that two changes leave between them by accident are taken into one change, so that a rewritten
    sentence is read as the old sentence and the new one.
    """
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    html, text = Markup(""), ""
    for same, a, b, c, d in _changes(old, new):
        gone, added = visible("".join(old[a:b])), visible("".join(new[c:d]))
        if same:
            html, text = html + gone, text + gone
        else:
            html += Markup("<del>{}</del>").format(gone) if gone else ""
            html += Markup("<ins>{}</ins>").format(added) if added else ""
            text += (f"[-{gone}-]" if gone else "") + (f"{{+{added}+}}" if added else "")
    return Page(Markup('<pre class="difference">{}</pre>').format(html), text)


def _changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[bool, int, int, int, int]]:
    """Return ``same, from, to`` of the old and ``from, to`` of the new words, short islands taken in."""
    found: list[tuple[bool, int, int, int, int]] = []
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for place, (kind, a, b, c, d) in enumerate(codes):
        island = 0 < place < len(codes) - 1 and sum(not word.isspace() for word in old[a:b]) < ISLAND
        same = kind == "equal" and not island
        if found and not same and not found[-1][0]:
            _, first, _, second, _ = found.pop()
            found.append((False, first, b, second, d))
        else:
            found.append((same, a, b, c, d))
    return found


def inline(text: str, kind: str = "", href: str | None = None) -> Page:
    """Return a piece of a line, with a class of the style sheet or as a link inside the report."""
    if href is not None:
        return Page(Markup('<a class="{}" href="{}">{}</a>').format(esc(kind), esc(href), esc(text)), text)
    return Page(Markup('<span class="{}">{}</span>').format(esc(kind), esc(text)), text)


def block(pages: Iterable[Page], kind: str, anchor: str | None = None) -> Page:
    """Return pages inside a box with a class of the style sheet."""
    inside = join(pages)
    mark = Markup(' id="{}"').format(esc(anchor)) if anchor else Markup("")
    return Page(
        Markup('<div class="{}"{}>{}</div>').format(esc(kind), mark, inside.html),
        inside.text,
        figures=inside.figures,
    )


def folded(summary: str, content: Page, kind: str = "") -> Page:
    """Return content behind a line that opens it; ``kind`` is a class of the style sheet."""
    mark = Markup(' class="{}"').format(esc(kind)) if kind else Markup("")
    html = Markup("<details{}><summary>{}</summary>{}</details>").format(mark, visible(summary), content.html)
    return Page(html, f"{summary}\n{content.text}", figures=content.figures)


def bullets(items: Iterable[str]) -> Page:
    """Return a list."""
    items = list(items)
    body = Markup("").join(Markup("<li>{}</li>").format(visible(item)) for item in items)
    return Page(Markup("<ul>{}</ul>").format(body), "\n".join(f"- {item}" for item in items))


def table(
    frame: pd.DataFrame, caption: str = "", numbers: Sequence[str] = (), kind: str = "", heads: int = 0
) -> Page:
    """Return a frame as a table; every cell, header and the caption is escaped.

    Parameters
    ----------
    numbers
        Columns to align to the right.
    kind
        A class of the style sheet for the whole table.
    heads
        How many columns at the left name the row.
    """
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(visible(name)) for name in frame.columns)
    right = [name in numbers for name in frame.columns]
    rows = Markup("").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(_filled(value, right[place], place < heads) for place, value in enumerate(row))
        )
        for row in frame.itertuples(index=False, name=None)
    )
    title = Markup("<caption>{}</caption>").format(visible(caption)) if caption else Markup("")
    html = Markup(
        '<div class="scroll"><table class="{}">{}<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
    ).format(esc(kind), title, head, rows)
    plain = frame.map(lambda value: value.text if isinstance(value, Page) else value)
    text = plain.to_string(index=False) if len(frame) else "(no rows)"
    return Page(html, f"{caption}\n{text}" if caption else text)


def figure(fig: Figure, alt: str, caption: str = "") -> Page:
    """Return a matplotlib figure as an image with a text alternative."""
    import matplotlib
    from matplotlib.text import Text

    buffer = io.BytesIO()
    # A label with "$x_{$" is no mathematics. Texts decide that when they are made, some only while drawing.
    for text in fig.findobj(Text):
        text.set_parse_math(False)
    with matplotlib.rc_context({"text.parse_math": False}):
        fig.savefig(buffer, format="png", dpi=110, bbox_inches="tight")
    data = base64.b64encode(_small(buffer)).decode()
    html = Markup(
        '<figure><img alt="{}" src="data:image/png;base64,{}"><figcaption>{}</figcaption></figure>'
    ).format(visible(alt), Markup(data), visible(caption or alt))
    return Page(html, f"[figure: {alt}]", figures=(fig,))


def _small(picture: io.BytesIO) -> bytes:
    """Return a picture with a palette: flat plots need few colours, and a third of the bytes this way."""
    from PIL import Image

    packed = io.BytesIO()
    flat = Image.open(picture).convert("RGB")
    flat.quantize(128, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        packed, "png", optimize=True
    )
    return packed.getvalue()


def _filled(value: object, number: bool, head: bool) -> Markup:
    """Return one cell with its tag."""
    kind = value.kind if isinstance(value, Cell) else "n" if number else ""
    mark = Markup(' class="{}"').format(esc(kind)) if kind else Markup("")
    tag = Markup("<th scope=row{}>{}</th>") if head else Markup("<td{}>{}</td>")
    return tag.format(mark, _cell(value))


def _cell(value: object) -> str | Markup:
    if isinstance(value, Page):
        return value.html
    if value is None or (isinstance(value, float) and pd.isna(value)):
        return "–"
    return visible(value)
