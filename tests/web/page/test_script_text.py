"""A module's text as it is served: what only its readers need is gone, and it does what it did."""

import pytest

from angelia.faces.web.script_text import squeezed
from tests.web.page.test_files import SOURCES


@pytest.mark.parametrize(
    ("text", "smaller"),
    [
        ("const a = 1;\nconst b = a + 2;\n", "let a=1;let b=a+2;"),
        ("// says what for\nconst a = /** @type {any} */ (b);", "let a=(b);"),
        ("const a = 1\nb();\nconst c = 2;", "let a=1\nb();let c=2;"),
        ("for (const a of b) { let_be(a); }", "for(let a of b){let_be(a);}"),
        ("if (a) return b;\nelse throw new C(d);", "if(a)return b;else throw new C(d);"),
        ("let a = 1\nlet b\n(c)", "let a=1\nlet b\n(c)"),
        ("const a = () => {\n  b();\n}\nc()", "let a=()=>{b();}\nc()"),
        ("a = b + +c - -d;", "a=b+ +c- -d;"),
        ('\'a  // b\' + "c  /* d\\" */"', '\'a  // b\'+"c  /* d\\" */"'),
        ("const a = /[/\"'`]  x/g.test(b) / 2 / c;", "let a=/[/\"'`]  x/g.test(b)/2/c;"),
        ("return /  /;", "return/  /;"),
        ("a(/  /, b[0] / 2, (c+d) / 3)", "a(/  /,b[0]/2,(c+d)/3)"),
        ("`a  b ${c + { d: 1 }.d} e`", "`a  b ${c+{d:1}.d} e`"),
        (
            "html`<a>\n    <b c=${ d ? html`<e>${ f }  g</e>` : `\\`}` } />\n  </a>`",
            "html`<a><b c=${d?html`<e>${f}  g<//>`:`\\`}`}/><//>`",
        ),
        ("`<a>\n  b</a>`", "`<a>\nb</a>`"),
        ("html`<a\n  b>c\n  d\n  ${e}</a>`", "html`<a\nb>c\nd\n${e}<//>`"),
        ("class A { #b = 1; static c() { return d in e; } }", "class A{#b=1;static c(){return d in e;}}"),
        (
            'html`<a b="c" d="e f" g="${h}" i="j/> k=l" />m="n"${n ? html`<o p="q" />` : ""}<r s="t" ${u}>`',
            'html`<a b=c d="e f" g="${h}" i="j/> k=l"/>m="n"${n?html`<o p=q/>`:""}<r s=t ${u}>`',
        ),
    ],
)
def test_blanks_and_comments_go_where_they_mean_nothing(text: str, smaller: str) -> None:
    assert squeezed(text) == smaller


def test_what_is_squeezed_cannot_be_squeezed_further() -> None:
    """So what was cut out of it was no part of a string, a template or a pattern."""
    for file in SOURCES:
        once = squeezed(file.read_text())
        assert squeezed(once) == once, file.name
