import pandas as pd
import pytest

from toolbench.showing import html

EVIL = "<img src=x onerror=alert(1)></td></table><script>alert(2)</script> $x_{$ \u202eabc\x07"


@pytest.mark.parametrize(
    "page",
    [
        html.heading(EVIL),
        html.paragraph(EVIL),
        html.paragraph("text", EVIL),
        html.preformatted(EVIL),
        html.folded(EVIL, html.paragraph(EVIL)),
        html.bullets([EVIL]),
        html.table(pd.DataFrame({EVIL: [EVIL, None]}), EVIL),
        html.heading("x", anchor='"><script>'),
    ],
    ids=["heading", "paragraph", "class", "pre", "folded", "list", "table", "anchor"],
)
def test_nothing_a_model_says_becomes_markup(page: html.Page) -> None:
    assert "<script" not in page.html
    assert "<img" not in page.html
    assert "\u202e" not in page.html
    assert "\x07" not in page.html


def test_the_text_form_is_made_visible_too() -> None:
    pages = [html.paragraph("\ud800"), html.bullets(["\x1b[31mred"]), html.heading("\u202eevil")]
    text = html.join(pages)._repr_mimebundle_()["text/plain"]
    assert text == "\n\\ud800\n- \\u001b[31mred\n\n\\u202eevil\n"
    assert text == (html.EMPTY + pages[0] + pages[1] + pages[2]).text
    text.encode()


def test_hostile_text_stays_readable() -> None:
    page = html.paragraph("a <b> & \u202eevil")
    assert "a &lt;b&gt; &amp; \\u202eevil" in page.html


def test_missing_values_are_a_dash_not_a_zero() -> None:
    page = html.table(pd.DataFrame({"a": [0.0, float("nan"), None]}, dtype=object))
    assert page.html.count("–") == 2
    assert "<td>0.0</td>" in page.html


def test_long_text_is_cut_and_says_so() -> None:
    page = html.preformatted("x" * 5000, limit=100)
    assert "4900 more characters" in page.html
    assert len(page.html) < 300


def test_a_page_shows_itself_in_a_notebook_with_a_text_form() -> None:
    bundle = (html.heading("A") + html.paragraph("b"))._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert "b" in bundle["text/plain"]


def test_a_figure_has_a_text_alternative_and_no_mathematics() -> None:
    from matplotlib.figure import Figure

    fig = Figure(figsize=(2, 2))
    axes = fig.add_subplot()
    axes.set_yticks([0, 1], ["$x_{$", "plain"])
    page = html.figure(fig, 'alt "quoted" <b>')
    assert 'alt="alt &#34;quoted&#34; &lt;b&gt;"' in page.html
    assert "data:image/png;base64," in page.html
