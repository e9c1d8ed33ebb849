"""How a result looks in a notebook: a small table, escaped, that needs nothing else loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from toolbench.domain.canonical import one_line


def html_table(caption: str, rows: Sequence[Mapping[str, object]], notes: Sequence[str] = ()) -> str:
    """Return rows as an HTML table with a caption, and lines of notes under it."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{_cell(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(row.get(name, ''))}</td>" for name in columns) + "</tr>" for row in rows
    )
    under = "".join(f"<p>{_cell(note)}</p>" for note in notes)
    return f"<table><caption>{_cell(caption)}</caption><tr>{head}</tr>{body}</table>{under}"


def _cell(value: object) -> str:
    if value is None or value != value:
        return "–"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    # What a model wrote may hold characters that reorder or hide what stands beside them.
    return escape(one_line(text))
