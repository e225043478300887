"""Formulas of a reply: TeX that is read becomes known nodes, and everything else stays as it was written."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from angelia.faces.web.conversations import formulas
from angelia.faces.web.conversations.formulas import MOST, formula
from angelia.faces.web.conversations.markdown_nodes import nodes
from tests.examples import examples

X = ["mrow", {}, [["mi", {}, ["x"]]]]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("$x$", ["p", {}, [["math", {}, [X]]]]),
        (r"It is \(x\).", ["p", {}, ["It is ", ["math", {}, [X]], "."]]),
        ("$$x$$", ["math", {"block": True}, [X]]),
        ("So:\n\\[\nx\n\\]\nyes", ["p", {}, ["So:\n", ["math", {"block": True}, [X]], "\nyes"]]),
        ("$5 and $6, or US$7", ["p", {}, ["$5 and $6, or US$7"]]),
        ("`$x$`", ["p", {}, [["code", {}, ["$x$"]]]]),
        (r"\(x", ["p", {}, ["(x"]]),
    ],
)
def test_formulas_stand_between_their_signs(text: str, read: Any) -> None:
    assert nodes(text) == (read,)


@pytest.mark.parametrize(
    "tex",
    [
        r"\frac{33.0}{29.5} = 1.12",
        r"\int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2}",
        r"\begin{pmatrix}a & b\\c & d\end{pmatrix}",
        r"\begin{aligned}a&=b\\c&=d\end{aligned}",
        r"f(x) = \begin{cases}1 & x > 0\\0 & \text{else}\end{cases}",
        r"\boxed{42}",
        r"\lim_{n\to\infty} \sum_{i=1}^n \hat x_i \in \mathbb{R}",
    ],
)
def test_what_people_write_is_read(tex: str) -> None:
    assert formula(tex) is not None


@pytest.mark.parametrize(
    "tex",
    [
        r"\unknown{x}", r"\frac{1}", "{", r"\left(x", r"\href{javascript:alert(1)}{x}", r"\style{position:fixed}{x}",
        r"\color{red}{x}", r"\cancel{x}", r"\newcommand{\a}{\a\a}\a",
        "{" * 900 + "}" * 900, r"\sqrt{" * 300 + "}" * 300,
        "x" * (MOST + 1), "", r"a \\ b", r"a & b",
    ],
)  # fmt: skip
def test_what_is_wrong_or_says_more_than_is_known_stays_as_it_was_written(tex: str) -> None:
    assert not formula(tex)
    if tex:
        assert nodes(f"a ${tex.strip()}$") == (["p", {}, ["a ", ["math", {}, [tex.strip()]]]],) or "\\\\" in tex


PIECES = [
    r"\frac",
    r"\sqrt",
    "{",
    "}",
    "^",
    "_",
    "x",
    "1",
    "&",
    r"\\",
    r"\left(",
    r"\right)",
    r"\text",
    "<b>",
    r"\begin{matrix}",
]
PIECES += [
    r"\end{matrix}",
    r"\href",
    r"\class",
    r"\mathbb",
    " ",
    "#1",
    "~",
    "%",
    "'",
    r"\hspace{3em}",
    r"\begin{array}{c|c}",
]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@settings(max_examples=examples(300))
def test_whatever_is_read_is_of_the_closed_list(tex: str) -> None:
    def look(node: list[Any]) -> None:
        name, attributes, inner = node
        assert name in formulas._ELEMENTS
        assert set(attributes) <= formulas._ATTRIBUTES
        for one in inner:
            if not isinstance(one, str):
                look(one)

    for node in formula(tex) or []:
        look(node)
