"""Claims about taking secrets out of what is stored and shown."""

import base64
import json
import re
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.policy.redact import Redactor

SECRET = 'sk-Ä"7/+ %x\\end'
FORMS = {
    "plain": SECRET,
    "url": quote(SECRET),
    "url, every mark": quote(SECRET, safe=""),
    "form": quote_plus(SECRET),
    "url in lower case": re.sub("%..", lambda escape: escape[0].lower(), quote(SECRET)),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
    "JSON": json.dumps(SECRET)[1:-1],
    "JSON as UTF-8": json.dumps(SECRET, ensure_ascii=False)[1:-1],
}


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_replaced_by_its_label_in_every_form(form: str) -> None:
    redactor = Redactor({"vendor key": SECRET})
    assert redactor.text(f"a {FORMS[form]} b") == "a [secret: vendor key] b"


@given(st.binary(max_size=8), st.binary(max_size=8))
def test_no_base64_of_a_text_around_a_secret_gives_it_away(before: bytes, after: bytes) -> None:
    secret = b"ghp_0123456789abcdefghij"
    shown = Redactor({"key": secret.decode()}).data(base64.b64encode(before + secret + after))
    assert b"[secret: key]" in shown
    for piece in (base64.b64encode(b"\0" * shift + secret)[4:-4] for shift in range(3)):
        assert piece not in shown


SECRETS = {"one": "hunter2hunter2", "two": "hunter2hunter2!", "three": "2hunter", "pem": "-----BEGIN\n" + "Ab1" * 40}
PIECES = st.sampled_from(
    [*SECRETS.values(), "hunter2", "hunter2hunter2"[:9], "x", "\n", base64.b64encode(b"2hunter").decode()]
)


@given(st.lists(PIECES, max_size=8), st.data())
def test_a_stream_cut_anywhere_reads_as_the_whole(pieces: list[str], data: st.DataObject) -> None:
    whole = "".join(pieces).encode()
    redactor = Redactor(SECRETS)
    stream, shown, rest = redactor.stream(), b"", whole
    while rest:
        cut = data.draw(st.integers(1, len(rest)))
        shown += stream.feed(rest[:cut])
        rest = rest[cut:]
    assert shown + stream.finish() == redactor.data(whole)


@given(st.binary())
def test_output_without_secrets_comes_through_byte_for_byte(data: bytes) -> None:
    stream = Redactor({"key": "a-very-unlikely-value"}).stream()
    assert stream.feed(data) + stream.finish() == data
    assert Redactor({}).data(data) == data


def test_what_cannot_be_part_of_a_secret_is_not_held_back() -> None:
    assert Redactor({"key": "abcdef"}).stream().feed(b"hello") == b"hello"


def test_values_that_are_too_short_are_left_and_named() -> None:
    redactor = Redactor({"pin": "1234", "key": "abcdef"})
    assert redactor.text("1234 abcdef") == "1234 [secret: key]"
    assert redactor.too_short == ("pin",)


def test_nothing_is_guessed_by_its_looks() -> None:
    looks = "sk-ant-api03-AAAAAAAAAAAAAAAA ghp_aaaaaaaaaaaaaaaaaaaa eyJhbGciOiJIUzI1NiJ9 AKIAIOSFODNN7EXAMPLE"
    assert Redactor({"key": "another"}).text(looks) == looks
