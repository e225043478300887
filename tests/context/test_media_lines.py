"""Which files a reply names, what of its words stays, and which URLs were known before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.context.known_urls import known_urls
from angelia.context.media_lines import PICTURES, NamedFile, files_named, while_written, without_files
from angelia.core import entry as e
from angelia.core.content import CallStatus, Text, ToolCall
from angelia.core.ids import CallId

URL = "https://example.com/a.png"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("MEDIA:/w/may.pdf", [NamedFile("/w/may.pdf", "auto")]),
        ("  MEDIA: may report.pdf  ", [NamedFile("may report.pdf", "auto")]),
        ('MEDIA:"may report"', [NamedFile("may report", "auto")]),
        ("MEDIA:file:///w/a%20b.pdf", [NamedFile("/w/a b.pdf", "auto")]),
        ("MEDIA:Makefile\r\nMEDIA:blob:ab12cd", [NamedFile("Makefile", "auto"), NamedFile("blob:ab12cd", "auto")]),
        ("MEDIA:a.ogg [[audio_as_voice]]", [NamedFile("a.ogg", "voice")]),
        ("[[as_document]] MEDIA:a.png", [NamedFile("a.png", "document")]),
        ("[[audio_as_voice]]\nMEDIA:a.mp3\nMEDIA:b.pdf", [NamedFile("a.mp3", "voice"), NamedFile("b.pdf", "auto")]),
        ("[[as_document]]\nMEDIA:a.png", [NamedFile("a.png", "document")]),
        (f"![A chart]({URL})", [NamedFile(URL, "picture", "A chart")]),
        (f'See ![]({URL} "title") here.', [NamedFile(URL, "picture")]),
        (f"See ![b](<{URL}?x=(1)>).", [NamedFile(f"{URL}?x=(1)", "picture", "b")]),
    ],
)
def test_a_whole_line_or_a_picture_names_a_file(text: str, named: list[NamedFile]) -> None:
    assert list(files_named(text)) == named


@pytest.mark.parametrize(
    "text",
    [
        "It is in /w/may.pdf, or write MEDIA:/w/may.pdf yourself.",
        "- MEDIA:/w/may.pdf",
        "> MEDIA:/w/may.pdf",
        "    MEDIA:/w/may.pdf",
        "`MEDIA:/w/may.pdf`",
        "```\nMEDIA:/w/may.pdf\n```",
        "~~~~ text\nMEDIA:/w/may.pdf\n~~~\nMEDIA:/w/b.pdf",
        "1. So:\n      ```\nMEDIA:/w/may.pdf\n      ```",
        "MEDIA: the press was there",
        "MEDIA:",
        "media:/w/may.pdf",
        f"`![A chart]({URL})` and [a link]({URL}) and {URL}",
        "![a local one](/w/a.png)",
        "[[audio_as_voice]]",
    ],
)
def test_prose_lists_quotes_and_code_name_nothing(text: str) -> None:
    assert files_named(text) == ()
    assert without_files(text, set()) == text


@pytest.mark.parametrize(
    ("text", "sent", "left"),
    [
        ("Here:\n\nMEDIA:a.pdf\n\nBye.", {0}, "Here:\n\nBye."),
        ("Here:\nMEDIA:a.pdf\nMEDIA:b.pdf", {1}, "Here:\nMEDIA:a.pdf"),
        ("MEDIA:a.pdf", {0}, ""),
        ("[[audio_as_voice]]\nMEDIA:a.ogg\nMEDIA:b.ogg\nSo.", {0, 1}, "So."),
        ("[[audio_as_voice]]\nMEDIA:a.ogg\nMEDIA:b.ogg\nSo.", {0}, "[[audio_as_voice]]\nMEDIA:b.ogg\nSo."),
        (f"Look:\n![c]({URL})\nNice.", {0}, "Look:\nNice."),
        (f"The ![chart]({URL}) rises, ![that]({URL}) falls.", {0}, f"The chart rises, ![that]({URL}) falls."),
        ("a  \n```\nMEDIA:x\n\n\n```\nMEDIA:y", {0}, "a  \n```\nMEDIA:x\n\n\n```"),
    ],
)
def test_what_went_out_is_left_out_and_every_other_word_stays(text: str, sent: set[int], left: str) -> None:
    assert without_files(text, sent) == left


@given(
    st.lists(st.sampled_from(["MEDIA:a.pdf", "words", "", "```", "![c](https://e.example/c.png)", "  x"]), max_size=12)
)
def test_nothing_but_the_named_is_ever_taken_away(lines: list[str]) -> None:
    text = "\n".join(lines)
    count = len(files_named(text))
    left = without_files(text, set(range(count)))
    assert files_named(left) == ()
    assert [line for line in left.split("\n") if line in ("words", "  x", "```")] == [
        line for line in lines if line in ("words", "  x", "```")
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Here:\nMEDIA:/tmp/may.pdf\nDone.", "Here:\nDone."),
        ("[[as_document]] MEDIA:/tmp/may.pdf", ""),
        ("Here:\n[[as_document]]\nMEDIA:/tmp/may.pdf", "Here:"),
        ("In code:\n```\nMEDIA:/tmp/may.pdf", "In code:\n```\nMEDIA:/tmp/may.pdf"),
        ("MEDIA: the press was there.\nMy word", "MEDIA: the press was there.\nMy word"),
        ("See ![a](https://example.com/a.png) [x]", "See ![a](https://example.com/a.png) [x]"),
    ],
)
def test_while_a_reply_is_written_no_line_that_names_a_file_is_seen(text: str, shown: str) -> None:
    assert while_written(text) == shown
    seen = [while_written(text[:end]) for end in range(len(text))]
    assert all(words.strip() in shown for words in seen if "```" not in words)


def test_one_reply_shows_at_most_an_album_of_pictures() -> None:
    text = "\n".join(f"![p](https://e.example/{number}.png)" for number in range(PICTURES + 5))
    assert len(files_named(text)) == PICTURES


def known(*facts: e.AnyFact) -> frozenset[str]:
    return known_urls([e.Entry(seq, 0, fact) for seq, fact in enumerate(facts, 1)])


def called(arguments: str) -> e.ModelSaid:
    return e.ModelSaid("m", (ToolCall(CallId("c1_0"), "shell", arguments),), e.StopReason.TOOL_CALLS)


def came(text: str, status: CallStatus = CallStatus.OK) -> e.ToolFinished:
    return e.ToolFinished(CallId("c1_0"), status, (Text(text),))


@pytest.mark.parametrize(
    "said", [f"Show me {URL}.", f"![x]({URL})", f"<{URL}>", f'src="{URL}"', f"({URL}, please)", f"[a]({URL})[b](x)"]
)
def test_a_url_in_a_persons_words_or_a_result_is_known(said: str) -> None:
    assert URL in known(e.UserSaid((Text(said),)))
    assert URL in known(called("{}"), came(said))


def test_a_url_that_only_the_model_has_named_is_not_known() -> None:
    repeated = called(f'{{"command": "echo {URL}?secret=1"}}')
    assert not known(repeated, came(f"{URL}?secret=1"))
    assert not known(called("{}"), came(f"{URL} was not fetched.", CallStatus.ERROR))
    assert not known(e.ModelSaid("m", (Text(URL),), e.StopReason.END))
    assert URL not in known(e.UserSaid((Text(f"{URL}?page=2"),)))
