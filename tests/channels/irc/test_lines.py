"""Lines of IRC: what one can hold, that no text is more than words, and how fast they may go."""

from hypothesis import given
from hypothesis import strategies as st

from angelia.channels.irc.pace import BURST_S, IrcPace
from angelia.channels.irc.wire import LINE, MASK, bare, messages, read

SIGNS = st.text(st.one_of(st.sampled_from("\r\n\0\x01\x02\x03\t :é🦊"), st.characters()), max_size=1500)


@given(SIGNS)
def test_no_text_is_more_than_words_for_one_receiver(text: str) -> None:
    said = messages("angelia", "#town", text)
    sent = "".join(f"{line}\r\n" for line in said).encode(errors="replace")
    assert sent.count(b"\n") == sent.count(b"\r") == len(said)
    assert not {0, 1} & set(sent)
    assert all(line.startswith("PRIVMSG #town :") and line != "PRIVMSG #town :" for line in said)


@given(SIGNS, st.text("abc", min_size=1, max_size=30))
def test_every_line_arrives_whole_and_nothing_is_left_out(text: str, nick: str) -> None:
    said = messages(nick, "#town", bare(text))
    relayed = [f":{nick} {line}\r\n".encode(errors="replace") for line in said]
    assert all(len(line) + MASK <= LINE for line in relayed)
    words = "".join(line.partition(" :")[2] for line in said)
    assert "".join(words.split()) == "".join(bare(text).split())


@given(st.text())
def test_whatever_a_server_says_can_be_read(raw: str) -> None:
    line = read(raw)
    assert line.last == (line.words[-1] if line.words else "")


def test_a_burst_goes_at_once_and_then_a_line_in_its_time() -> None:
    now = 1_000_000
    pace = IrcPace(2.0, lambda: now)
    gone = []
    while not pace.wait_for(1):
        pace.add(1)
        gone.append(now)
    assert len(gone) == BURST_S / 2
    assert pace.wait_for(1) == 2.0
    assert pace.wait_for(3) == 6.0
    assert pace.wait_for(100) == BURST_S
    now += 2_000
    assert not pace.wait_for(1)
