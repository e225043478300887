"""Claims about taking secrets out of what is stored and shown."""

import base64
import json
import re
from collections.abc import Callable
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


def wrapped(text: str, columns: int, end: str = "\n") -> str:
    """As programs cut it into lines."""
    return end.join(text[at : at + columns] for at in range(0, len(text), columns))


ENCODED: dict[str, Callable[[bytes], str]] = {
    "hex": lambda raw: raw.hex(),
    "hex in capitals": lambda raw: raw.hex().upper(),
    "xxd -p": lambda raw: wrapped(raw.hex(), 60),
    "od -An -tx1": lambda raw: "".join(f" {raw[at : at + 16].hex(' ')}\n" for at in range(0, len(raw), 16)),
    "fingerprint": lambda raw: raw.hex(":").upper(),
    "escapes": lambda raw: "".join(f"\\x{byte:02x}" for byte in raw),
    "a list in C": lambda raw: ", ".join(f"0x{byte:02X}" for byte in raw),
    "base64": lambda raw: wrapped(base64.b64encode(raw).decode(), 76),
    "openssl base64": lambda raw: wrapped(base64.b64encode(raw).decode(), 64),
    "base64 of Windows": lambda raw: wrapped(base64.b64encode(raw).decode(), 64, "\r\n"),
    "base64 in YAML": lambda raw: wrapped(base64.b64encode(raw).decode(), 70, "\n    "),
}


@pytest.mark.parametrize("program", ENCODED)
@given(before=st.binary(max_size=90), after=st.binary(max_size=9), data=st.data())
def test_no_program_that_cuts_lines_gives_a_secret_away(
    program: str, before: bytes, after: bytes, data: st.DataObject
) -> None:
    secret = b"sk-ant-0123456789abcdefghijklmnopqrstuvwxyz"
    redactor = Redactor({"key": secret.decode()})
    whole = ENCODED[program](before + secret + after).encode()
    shown = redactor.data(whole)
    assert b"[secret: key]" in shown
    middle = ENCODED[program](secret[10:30]).strip().encode()
    assert middle not in shown
    cut = data.draw(st.integers(0, len(whole)))
    stream = redactor.stream()
    assert stream.feed(whole[:cut]) + stream.feed(whole[cut:]) + stream.finish() == shown


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
