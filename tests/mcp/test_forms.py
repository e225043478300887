"""A server's form as questions: each kind of field, what it takes, and what is wrong with anything else."""

from typing import Any

import pytest

from angelia.core.errors import BadInput
from angelia.tools.mcp.forms import FormField, fields_of

TITLED = {"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}]}
MANY = {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "minItems": 1, "maxItems": 2}
LONG = {"type": "string", "enum": [str(number) for number in range(10)], "default": "3"}


def field(shape: dict[str, Any], *, required: bool = True) -> FormField:
    """The one field of a form."""
    [found] = fields_of({"properties": {"x": shape}, "required": ["x"] if required else []})
    return found


@pytest.mark.parametrize(
    ("shape", "words", "value"),
    [
        ({"type": "string"}, " Ann ", "Ann"),
        ({"type": "string", "default": "Ann"}, "default", "Ann"),
        ({"type": "string", "format": "email"}, "ann@example.org", "ann@example.org"),
        ({"type": "string", "format": "date"}, "2026-07-28", "2026-07-28"),
        ({"type": "string", "format": "date-time"}, "2026-07-28T14:30:00Z", "2026-07-28T14:30:00Z"),
        ({"type": "string", "format": "uri"}, "https://example.org/x", "https://example.org/x"),
        ({"type": "integer", "minimum": 1, "maximum": 3}, "1", 1),
        ({"type": "number", "default": 0.5}, "", 0.5),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean", "default": False}, "default", False),
        (TITLED, "green", "#0f0"),
        (TITLED, "#f00", "#f00"),
        (MANY, "a, C", ["a", "c"]),
        (LONG, "7", "7"),
    ],
)
def test_words_become_the_value_that_is_wanted(shape: dict[str, Any], words: str, value: object) -> None:
    assert field(shape).value(words) == value


@pytest.mark.parametrize(
    ("shape", "words", "why"),
    [
        ({"type": "string", "minLength": 3}, "ab", "too short"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "A1", "does not match"),
        ({"type": "string", "format": "email"}, "ann", "'ann' is not an e-mail address"),
        ({"type": "string", "format": "date"}, "tomorrow", "'tomorrow' is not a day such as 2026-07-28"),
        ({"type": "integer"}, "1.5", "'1.5' is no whole number"),
        ({"type": "integer", "maximum": 3}, "4", "4 is greater than the maximum of 3"),
        ({"type": "number"}, "much", "'much' is no number"),
        ({"type": "boolean"}, "perhaps", "'perhaps' is no yes or no"),
        (TITLED, "blue", "'blue' is none of the choices"),
        (MANY, "a, b, c", "too long"),
    ],
)
def test_what_is_no_such_value_is_said(shape: dict[str, Any], words: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        field(shape).value(words)


@pytest.mark.parametrize(
    "shape", [{"type": "object"}, {"type": "array"}, {"type": "null"}, "text", {"type": "array", "items": {}}]
)
def test_a_form_of_other_things_is_refused(shape: object) -> None:
    with pytest.raises(BadInput):
        fields_of({"properties": {"x": shape}})


def test_what_is_typed_can_be_pressed_by_no_number() -> None:
    """Doors number what can be chosen: in a field for numbers or words a choice would swallow an answer."""
    assert field({"type": "integer", "default": 2}, required=False).offered == ()
    assert field(LONG).offered == ()
    assert field(TITLED, required=False).offered == ("Red", "Green", "Leave it out", "Do not answer")


def test_a_field_says_what_it_wants_and_how_it_is_left_out() -> None:
    shape = {"type": "integer", "description": "How many.", "minimum": 1, "default": 2}
    assert field(shape, required=False).wanted == (
        "How many. A whole number, at least 1. "
        "(“Default” takes 2; “Leave it out” leaves it out; “Do not answer” ends this.)"
    )
    assert field(LONG).wanted.startswith("One of these: 0, 1, 2, 3")
