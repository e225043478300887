"""The front matter of a skill: read as the reference reads it, and every fault has its line."""

import pytest
import strictyaml

from angelia.skills.front_matter import BadFrontMatter, read_front_matter

TEXTS = [
    *("a: b\n", "\na: b\n", "a:\n", 'a: "x"\n', "a: 'it''s'\n", "a: b: c\n", "a: b # c\n", "a: [x]\n"),
    *("a: {x: y}\n", "a:\n- x\n- y\n", "a:\n  - x\n  - y: z\n", "a: |\n  x\n  y\nb: c\n"),
    *("a: >\n  x\n  y\n\n  z\n", "a: >-\n  x\n", "a: x\n  y\n", "a: &q x\n", "a: *q\n", "a: !t x\n"),
    *("a: x\na: y\n", "  a: b\n  c: d\n", "", "# only\n", "a", "- a\n", 'a: "x\n  y"\n'),
    *("a:\n  b: c\n  d:\n    e: f\n", "a: -x\n", "a: - x\n", "a: ? x\n", "a: @x\n", "a: `x`\n", "a: %x\n"),
    *('a: "\\u00e9"\n', '"a": b\n', "a : b\n", "a:b\n", "a: b:c\n", "a: #c\n", "a:\tb\n", "\ta: b\n", "a: null\n"),
    *("a: ~\n", "a: x,y\n", "a: x]\n", "a: 'x' y\n", 'a: "x\n', "a: |2\n   x\n", "<<: x\n", "a:\n b: c\n  d: e\n"),
    *("a:\n\n  b\n", "1: x\n", "a: ''\n", "a: 'x' # c\n", "a: x\n# c\nb: y\n", "a: x\n  # c\n  y\n", "[a]: x\n"),
    *("a: ]\n", "a: }\n", "a: ,\n", "a: :x\n", "a: x:\n", "a: -\n", "a:\n  x: 1\n y: 2\n", "a: x\n\n  y\nb: z\n"),
    *("a: >+\n  x\n\n\nb: c\n", "a: >\n  x\n    y\n  z\n", "a: |-\n\n  x\nb: c\n", 'a: "x\\\n  y"\n'),
    *("a: 'x\n\n  y'\n", "a: |\n x\n  y\nb: c\n", "a: |\nb: c\n", "a: >\n  x\n y\n", 'a: "\\q"\n', "a: x#y\n"),
    *('a: "\\x41\\u00e9 \\"q\\""\n', "a: x #y\n  z\n", "a:\n  x\n  y\n", "a:\n- x: 1\n  y: 2\n- z\n", 'a: "x" \n'),
    *("a b: c\n", "a-b: c\n", "-a: c\n", "a: http://x.y/z\n", "a: x  \n", "a: 'x: y'\n", "a: (x) [y]\n"),
    *("a: Use: x\n", "a: *\n", "a: !\n", "a: |x\n", "a: > x\n", "a: >- # c\n  x\n", "a:    b\n", 'a: "x # y"\n'),
    *("a: b\n c: d\n", "a: '\n", "a: 1.0\n", "a: yes\n", "a: x\ty\n", "a: \n  b: c\n", "a: x\n   y\n b\n"),
    "a: x\r\nb: y\r\n",
]
"""Front matters, each with what people and other programs write."""


@pytest.mark.parametrize("text", TEXTS)
def test_it_is_read_as_strictyaml_reads_it_or_refused_where_it_refuses(text: str) -> None:
    try:
        known = strictyaml.load(text).data
    except strictyaml.YAMLError:
        known = None
    whole = f"---\n{text}{'' if text.endswith(chr(10)) else chr(10)}---\nbody"
    if isinstance(known, dict):
        assert read_front_matter(whole).fields == known
    else:
        with pytest.raises(BadFrontMatter):
            read_front_matter(whole)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("name: x\n---\n", 1, "does not begin with a line ---"),
        ("---\nname: x\n", 1, "does not end"),
        ("---\n---\n", 2, "is empty"),
        ("---\nname: x\ndescription: Use: y\n---\n", 3, "put the value in quotes"),
        ("---\nname: x\n\n# c\nname: y\n---\n", 5, "a second time"),
        ("---\nname: x\ntools: [a]\n---\n", 3, "flow style"),
        ("---\nname: x\n\tb: c\n---\n", 3, "tab"),
        ("---\nname: 'x\nb: c\n---\n", 2, "does not end"),
        ("---\nname: x\njust words\n---\n", 3, "is no field"),
        ("---\nname: \x1b\n---\n", 2, "U+001B"),
        ("---\na: x\n  b\n c: d\n---\n", 4, "second colon"),
        ('---\na: "\\ud800"\n---\n', 2, "is no character"),
    ],
)
def test_a_fault_names_its_line_and_what_to_do(text: str, line: int, words: str) -> None:
    with pytest.raises(BadFrontMatter) as fault:
        read_front_matter(text)
    assert fault.value.line == line
    assert words in fault.value.text


@pytest.mark.parametrize(
    "text",
    ["- " * 30_000, "a:\n" + "\n".join(" " * at + "a:" for at in range(1, 900)), "a" + " " * 60_000, '"' * 60_000],
)
def test_what_is_built_to_exhaust_a_reader_is_refused(text: str) -> None:
    with pytest.raises(BadFrontMatter):
        read_front_matter(f"---\n{text}\n---\n")
