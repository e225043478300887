"""Events come out the same, however their bytes were cut."""

from hypothesis import given
from hypothesis import strategies as st

from angelia.http.events import EventDecoder, ServerSentEvent

lines = st.lists(
    st.binary(max_size=12).map(lambda b: b.replace(b"\r", b"").replace(b"\n", b"")), min_size=1, max_size=3
)


@given(st.lists(lines, max_size=5), st.sampled_from([b"\n", b"\r\n", b"\r"]), st.data())
def test_any_cut_gives_the_same_events(datas: list[list[bytes]], newline: bytes, data: st.DataObject) -> None:
    body = b"".join(b"".join(b"data: " + line + newline for line in lines) + newline for lines in datas)
    expected = [ServerSentEvent("", b"\n".join(lines)) for lines in datas]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=8)))
    pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    events = EventDecoder()
    assert [event for piece in pieces for event in events.feed(piece)] == expected


def test_names_comments_and_a_byte_order_mark_are_understood() -> None:
    body = b"\xef\xbb\xbfevent: ping\ndata:{}\n\n: OPENROUTER PROCESSING\n\nid: 7\nretry: 10\ndata: a\ndata: b\n\n"
    assert EventDecoder().feed(body) == [ServerSentEvent("ping", b"{}"), ServerSentEvent("", b"a\nb")]


def test_an_error_line_of_llama_cpp_is_an_error_event() -> None:
    assert EventDecoder().feed(b'error: {"code":500}\n\n') == [ServerSentEvent("error", b'{"code":500}')]


def test_an_event_without_its_blank_line_is_no_event() -> None:
    assert EventDecoder().feed(b"data: [DONE]\n") == []
