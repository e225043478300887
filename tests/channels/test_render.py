"""Markdown becomes messages of a network: nothing is lost, each is within the limit and valid by itself."""

import re
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from angelia.channels.capabilities import Units
from angelia.channels.markup.dialect import Dialect
from angelia.channels.markup.growing import whole_so_far
from angelia.channels.markup.html import MatrixHtml, TelegramHtml
from angelia.channels.markup.marks import DiscordMarkdown, PlainText, StandardMarkdown, WhatsAppMarks
from angelia.channels.markup.passages import passages
from angelia.channels.markup.reader import read_passage
from angelia.channels.markup.renderer import Rendered, measure, render_within
from tests.channels.markdown_bits import texts

DIALECTS: tuple[Dialect, ...] = (
    TelegramHtml(),
    MatrixHtml(),
    PlainText(),
    StandardMarkdown(),
    DiscordMarkdown(),
    WhatsAppMarks(),
)


def said(text: str) -> str:
    """A text without its white space."""
    return "".join(text.split())


@given(texts, st.sampled_from(DIALECTS), st.integers(60, 300), st.sampled_from(Units))
@example("a" * 1000, TelegramHtml(), 60, Units.UTF16)
@example("* " * 40 + "x", StandardMarkdown(), 60, Units.CHARACTERS)
def test_the_messages_say_what_the_whole_says_each_within_the_limit(
    text: str, dialect: Dialect, limit: int, units: Units
) -> None:
    whole = render_within(text, dialect, 10**9, units)
    pieces = render_within(text, dialect, limit, units)
    assert len(whole) <= 1
    assert said("".join(one.plain for one in pieces)) == said("".join(one.plain for one in whole))
    assert all(one.plain in whole[0].plain for one in pieces)
    assert all(measure(one.marked, units) <= limit and measure(one.plain, units) <= limit for one in pieces)
    assert all(one.plain.strip() for one in pieces)
    assert bool(text.replace("\x00", "x").strip()) == bool(pieces)
    assert render_within(text, dialect, limit, units) == pieces


TAGS = {"b", "i", "s", "code", "pre", "a", "blockquote"}
"""What the Bot API reads, of what we write (core.telegram.org/bots/api, "HTML style")."""

ALSO_MATRIX = {"p", "br", "strong", "em", "del", "ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6"}
ALSO_MATRIX |= {"table", "thead", "tbody", "tr", "th", "td"}


class Checked(HTMLParser):
    """Reads HTML strictly: known tags, balanced, no stray signs; gathers the words."""

    def __init__(self, tags: set[str]) -> None:
        super().__init__(convert_charrefs=False)
        self.tags, self.open, self.words = tags, [""], ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.tags, tag
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        assert not set(data) & set("<>&")
        self.words += data

    def handle_entityref(self, name: str) -> None:
        assert name in ("amp", "lt", "gt", "quot")
        self.words += unescape(f"&{name};")


def read_html(html: str, tags: set[str]) -> str:
    """The words of valid HTML."""
    parser = Checked(tags)
    parser.feed(html)
    parser.close()
    assert parser.open == [""]
    return parser.words


def without_addresses(text: str) -> str:
    """The words without what markup keeps in an attribute, and without the signs of lists and quotes."""
    return said(re.sub(r" \((https?://|mailto:)[^\s)]*\)", "", text)).replace("•", "").replace(">", "")


@given(texts, st.integers(60, 300))
def test_html_is_balanced_and_says_the_same_words(text: str, limit: int) -> None:
    text = text.replace("(", "").replace("[", "")
    for one in render_within(text, TelegramHtml(), limit, Units.UTF16):
        assert without_addresses(read_html(one.marked, TAGS)) == without_addresses(one.plain)
    for one in render_within(text, MatrixHtml(), limit, Units.UTF16):
        assert read_html(one.marked, TAGS | ALSO_MATRIX) or one.plain


@given(texts)
@example("```\n\na\n\nb\n```")
@example("- ```\n\na\n\n```\nb\n\nc")
@example("- a\n\n  b\n\n**c**\n\n    d\n\ne")
def test_a_text_read_in_passages_is_the_text_read_whole(text: str) -> None:
    text = re.sub(r"\r\n?", "\n", text.replace("\x00", ""))
    found = list(passages(text))
    assert "\n".join(found) == text
    assert [block for one in found for block in read_passage(one)] == list(read_passage(text))


@given(texts, st.integers(60, 300))
def test_standard_markdown_reads_back_as_the_same_words(text: str, limit: int) -> None:
    text = re.sub(r"[*_~]+", r"\g<0> ", text)  # marks that touch each other can be read in several ways
    for one in render_within(text, StandardMarkdown(), limit, Units.UTF16):
        back = render_within(one.marked, PlainText(), 10**9, Units.UTF16)
        # what continues a quote is one again, and so has its mark
        assert said("".join(each.plain for each in back)).replace(">", "") == said(one.plain).replace(">", "")


READ_BACK = MarkdownIt("commonmark").enable("strikethrough").enable("table")

plain_words = st.text(
    st.sampled_from([*"abcXYZ019 .,:;-+=#>*_~`[](){}|\\!<>&\"'/@$%^?é人", "\n"]), min_size=1, max_size=80
)


@given(plain_words)
@example("1. one")
@example("# no heading\n=====\n- no item\n+ none\n> none")
@example("<!channel> & <b>bold</b> **not** ~~struck~~ `code` [a](b) | c")
def test_words_never_become_markup(words: str) -> None:
    tokens = READ_BACK.parse(StandardMarkdown().text(words.strip()))
    seen = {token.type for token in tokens} | {child.type for token in tokens for child in token.children or []}
    assert seen <= {
        "paragraph_open",
        "inline",
        "paragraph_close",
        "text",
        "hardbreak",
        "softbreak",
        "link_open",
        "link_close",
    }
    shown = "".join(child.content for token in tokens for child in token.children or [])
    assert said(shown) == said(words)


ROWS = [
    ("**b** _i_ ~~s~~", TelegramHtml(), "<b>b</b> <i>i</i> <s>s</s>"),
    ("a < b & c", TelegramHtml(), "a &lt; b &amp; c"),
    ("<b>raw</b>", TelegramHtml(), "&lt;b&gt;raw&lt;/b&gt;"),
    ("`a<b`", TelegramHtml(), "<code>a&lt;b</code>"),
    ("```py\nx\n```", TelegramHtml(), '<pre><code class="language-py">x</code></pre>'),
    ("[a](https://x.de?a=1&b=2)", TelegramHtml(), '<a href="https://x.de?a=1&amp;b=2">a</a>'),
    ("[you](tg://user?id=1)", TelegramHtml(), "you (tg://user?id=1)"),
    ("![a cat](https://x.de/c.png)", TelegramHtml(), '<a href="https://x.de/c.png">a cat</a>'),
    ("# A **title**\ntext", TelegramHtml(), "<b>A title</b>\ntext".replace("A title", "A <b>title</b>")),
    ("- a\n- b\n  1. c", TelegramHtml(), "• a\n• b\n    1. c"),
    ("> a\n> > b", TelegramHtml(), "<blockquote>a\n\nb</blockquote>"),
    ("a\nb", TelegramHtml(), "a\nb"),
    ("a|b\n-|-\n1|22", TelegramHtml(), "<pre>a │ b\n──┼───\n1 │ 22</pre>"),
    ("@everyone <@1> https://a.de/x_y", DiscordMarkdown(), r"\@everyone \<@1> <https://a.de/x_y>"),
    ("[a](https://x.de)", DiscordMarkdown(), "[a](<https://x.de>)"),
    ("<https://x.de>", DiscordMarkdown(), "<https://x.de>"),
    ("snake_case_name *a*", DiscordMarkdown(), r"snake\_case\_name *a*"),
    ("#### deep", DiscordMarkdown(), "### deep"),
    ("````\n```\n````", DiscordMarkdown(), "```\n`\u200b`\u200b`\n```"),
    ("````\n```\n````", StandardMarkdown(), "````\n```\n````"),
    ("`` a`b ``", StandardMarkdown(), "``a`b``"),
    ("<!here>", StandardMarkdown(), "&lt;!here&gt;"),
    ("1. a\n   - b", StandardMarkdown(), "1. a\n    - b"),
    ("**b** `c` 2 * 3 * 4", WhatsAppMarks(), "*b* `c` 2 * 3 * 4"),
    (r"\*not bold\* my_own_name", WhatsAppMarks(), "∗not bold* my_own_name"),
    ("[a](https://x.de)", WhatsAppMarks(), "a (https://x.de)"),
    ("**b** [a](https://x.de)\n- x", PlainText(), "b a (https://x.de)\n\n• x"),
    ("[used]: https://x.de", PlainText(), "[used]: https://x.de"),
    ("a<b", MatrixHtml(), "<p>a&lt;b</p>"),
    ("3. c", MatrixHtml(), '<ol start="3"><li><p>c</p></li></ol>'),
    (
        "a|b\n-|-\n1|**2**",
        MatrixHtml(),
        (
            "<table><thead><tr><th>a</th><th>b</th></tr></thead>"
            "<tbody><tr><td>1</td><td><strong>2</strong></td></tr></tbody></table>"
        ),
    ),
    ("2*3*4 and 2**3**4, a*b + c*d", TelegramHtml(), "2*3*4 and 2**3**4, a*b + c*d"),
    ("2*3*4", MatrixHtml(), "<p>2*3*4</p>"),
    ("*a*, (**b**) and un*c*", TelegramHtml(), "<i>a</i>, (<b>b</b>) and un<i>c</i>"),
    ("- [ ] buy\n- [x] *do*\n- [z] no\n- []", TelegramHtml(), "• ☐ buy\n• ☑ <i>do</i>\n• [z] no\n• []"),
    ("1. [X] done", MatrixHtml(), '<ol start="1"><li><p>☑ done</p></li></ol>'),
    ("[ ] no list", TelegramHtml(), "[ ] no list"),
]


@pytest.mark.parametrize(("markdown", "dialect", "marked"), ROWS)
def test_a_dialect_writes(markdown: str, dialect: Dialect, marked: str) -> None:
    assert [one.marked for one in render_within(markdown, dialect, 2000, Units.UTF16)] == [marked]


def pieces(markdown: str, limit: int) -> list[Rendered]:
    """A text in Telegram's dialect."""
    return list(render_within(markdown, TelegramHtml(), limit, Units.UTF16))


def test_a_fence_is_closed_and_opened_again_with_its_language() -> None:
    code = "\n".join(f"    line {n}" for n in range(20))
    found = pieces(f"```python\n{code}\n```", 120)
    assert len(found) > 2
    assert all(one.marked.startswith('<pre><code class="language-python">    line') for one in found)
    assert all(one.marked.endswith("</code></pre>") for one in found)
    assert "\n".join(one.plain for one in found) == code


WIDE = "name|what it is|price\n-|-|-\nfirst|a thing that has a long name|**4**\nsecond||[5](https://x.de)"


@pytest.mark.parametrize("dialect", [TelegramHtml(), DiscordMarkdown(), WhatsAppMarks(), PlainText()])
def test_a_wide_table_is_a_list_and_says_what_each_cell_is(dialect: Dialect) -> None:
    (found,) = render_within(WIDE, dialect, 2000, Units.UTF16)
    assert found.plain.split("\n") == [
        "• first",
        "  • what it is: a thing that has a long name",
        "  • price: 4",
        "• second",
        "  • price: 5 (https://x.de)",
    ]
    assert max(map(len, found.plain.split("\n"))) <= 50


def test_a_wide_table_stays_one_where_the_network_has_tables_and_is_cut_between_rows() -> None:
    (found,) = render_within(WIDE, MatrixHtml(), 2000, Units.UTF16)
    assert found.marked.count("<tr>") == 3
    rows = "\n".join(f"{n}|{'x' * 30}" for n in range(40))
    several = render_within(f"n|x\n-|-\n{rows}", MatrixHtml(), 600, Units.UTF16)
    assert len(several) > 2
    assert sum(one.marked.count("<tr>") for one in several) == 41
    assert ["<th>" in one.marked for one in several] == [True] + [False] * (len(several) - 1)


GROWN = """# A **title** that grows

It is **very important**, and *so* is `this code` in [the page](https://x.de/a_b), not 2*3*4 or a_b.

- one **item**
- [x] another *one*

```py
a = "**not bold**"
```

The ~~wrong~~ ![picture](https://x.de/c.png) end."""


@pytest.mark.parametrize("dialect", [TelegramHtml(), MatrixHtml(), PlainText()])
def test_no_raw_marks_are_seen_while_a_text_grows(dialect: Dialect) -> None:
    for end in range(1, len(GROWN) + 1):
        for one in render_within(whole_so_far(GROWN[:end]), dialect, 2000, Units.UTF16):
            seen = re.sub(
                r'a = "[*]?[*]?(not)?|2\*3\*4|2\*3\*?|2\*',
                "",
                one.plain.partition("a = ")[0] + one.plain.rpartition("\n\n")[2] * ("The" in one.plain),
            )
            assert not re.search(r"[`*~]|\]\(|\[(?!x\])|^#", seen), (GROWN[:end], one.plain)
    assert whole_so_far(GROWN) == GROWN


def test_marks_are_closed_and_opened_again() -> None:
    first, second = pieces(f"**{'strong ' * 14}!**", 80)
    assert first.marked.startswith("<b>strong")
    assert first.marked.endswith("strong</b>")
    assert second.marked.startswith("<b>strong")


def test_paragraphs_go_before_lines_sentences_and_words() -> None:
    assert pieces("One. Two three.\n\nFour five six seven.", 30)[0].plain == "One. Two three."
    assert pieces("First is here now. Second is there.", 30)[0].plain == "First is here now."
    assert [one.plain for one in pieces("word after word after word", 15)] == ["word after word", "after word"]


def test_a_heading_stays_with_what_it_stands_over() -> None:
    found = pieces("Words before it, and some more.\n\n# Title\n\n" + "x" * 60, 80)
    assert [one.plain.split("\n")[0] for one in found] == ["Words before it, and some more.", "Title"]


@pytest.mark.parametrize("letter", ["👩‍👩‍👧", "🇩🇪", "e\u0301", "👍🏽", "각".encode().decode(), "𝒳"])
def test_a_letter_is_not_cut(letter: str) -> None:
    found = pieces(letter * 100, 64)
    assert len(found) > 1
    assert all(one.plain == letter * (len(one.plain) // len(letter)) for one in found)


@pytest.mark.parametrize("address", ["https://x.de/" + "a" * 60, "https://x.de/" + "a" * 500])
def test_an_address_is_whole_unless_it_alone_is_too_long(address: str) -> None:
    found = pieces(f"Some words here, then [a link]({address}).", 100)
    assert "".join(one.plain for one in found).replace(" ", "") == f"Somewordshere,thenalink({address})."
    assert (f'href="{address}"' in "".join(one.marked for one in found)) == (len(address) < 100)


@pytest.mark.parametrize("deep", [">" * 3000 + "x", "[" * 3000, "*a " * 3000, "- " * 500 + "x", "`" * 3001])
def test_what_is_nested_beyond_reason_is_shown_all_the_same(deep: str) -> None:
    found = "".join(one.plain for one in pieces(deep, 4000))
    assert "x" in found or len(found) >= 500
