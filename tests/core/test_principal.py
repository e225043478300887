"""Who somebody is, as one value: it reads as it was written, and nobody can be taken for somebody else."""

import msgspec
import pytest
from hypothesis import example, given

from angelia.core import codec
from angelia.core import entry as e
from angelia.core.errors import BadInput, CodecError
from angelia.core.principal import ANGELIA, OWNER, Principal
from angelia.testing.logs.strategies import principals


@given(principals())
def test_a_principal_reads_as_it_was_written(one: Principal) -> None:
    assert Principal.parse(str(one)) == one
    assert msgspec.json.decode(msgspec.json.encode(one), type=Principal) == one


@given(principals(), principals())
@example(Principal("a", "b:c"), Principal("a", "b"))
def test_two_people_never_have_one_name(one: Principal, two: Principal) -> None:
    assert (str(one) == str(two)) is (one == two)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has no channel"),
        (":4711", "it has no channel"),
        ("telegram", "an id of telegram is missing"),
        ("telegram:", "an id of telegram is missing"),
        ("key", "an id of key is missing"),
        ("owner:", "nothing follows the colon"),
        ("owner:4711", "`owner` has no id"),
        ("angelia:1", "`angelia` has no id"),
        ("telegram:4711\nowner", "U+000A"),
    ],
)
def test_a_text_that_names_nobody_is_refused_with_its_fault_and_the_form(text: str, why: str) -> None:
    with pytest.raises(BadInput) as raised:
        Principal.parse(text)
    assert why in raised.value.what
    assert "telegram:4711" in raised.value.why


@pytest.mark.parametrize("principal", [OWNER, ANGELIA, Principal("key", "backup"), Principal("matrix", "@a:b.example")])
def test_everybody_can_be_written_and_read(principal: Principal) -> None:
    assert Principal.parse(str(principal)) == principal


@pytest.mark.parametrize("door", ["telegram:x", "", "a\x00"])
def test_no_value_of_the_type_names_nobody(door: str) -> None:
    with pytest.raises(ValueError, match="names nobody"):
        Principal(door, "1")


def test_a_stored_fact_whose_speaker_names_nobody_is_refused_by_name() -> None:
    stored = codec.encode(e.CancelAsked(Principal("telegram", "1")))
    with pytest.raises(CodecError, match="names nobody"):
        codec.decode(stored.replace(b'"id":"1"', b'"id":"\\n"'), where="Entry 3 of c1")
