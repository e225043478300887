"""A server's form as questions, one for each field, and a person's words as the values that it wants.

A form is a flat object of texts, numbers, yes or no, and choices (MCP, "Elicitation", "Requested Schema"). Whatever is
asked can be left unanswered, and what is filled in is shown once more before it goes, where it is more than one field.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

import jsonschema
from msgspec import Struct

from angelia.core.errors import BadInput
from angelia.core.text import clean, one_line

DECLINE = "Do not answer"
LEAVE_OUT = "Leave it out"
USUAL = "Default"
SEND, AGAIN = "Send it", "Fill it in again"
YES, NO = "yes", "no"

MOST_FIELDS = 30
"""Fields of a form; nobody answers more of them one by one."""

_PRESSED = 6
"""Choices that are offered for pressing; of more the names are written."""

Value = str | int | float | bool | list[str] | None


class FormField(Struct, frozen=True):
    """One value that is wanted. `choices` are (value, title); `several` of them may be wanted; `fallback` is its
    default, None for none.
    """

    name: str
    title: str
    about: str
    kind: str
    schema: Mapping[str, Any]
    required: bool
    choices: tuple[tuple[str, str], ...] = ()
    several: bool = False
    fallback: Value = None

    @property
    def offered(self) -> tuple[str, ...]:
        """What can be pressed, the default first; nothing where words are wanted, since a number that is typed could
        be the answer as well as that of a choice.
        """
        if self.kind == "boolean":
            found = [YES, NO]
        elif self.choices and len(self.choices) <= _PRESSED and not self.several:
            found = [title for _, title in self.choices]
        else:
            return ()
        if (usual := self.usual) is not None:
            found = [usual, *(one for one in found if one != usual)]
        return (*found, *(() if self.required else (LEAVE_OUT,)), DECLINE)

    @property
    def usual(self) -> str | None:
        """The default in words."""
        return None if self.fallback is None else self.in_words(self.fallback)

    def in_words(self, value: Value) -> str:
        """A value as the person knows it."""
        if isinstance(value, bool):
            return YES if value else NO
        titles = dict(self.choices)
        chosen = value if isinstance(value, list) else [str(value)]
        return ", ".join(titles.get(one, one) for one in chosen)

    @property
    def wanted(self) -> str:
        """What is to be answered, in a line or two."""
        kind = {"integer": "A whole number", "number": "A number"}.get(self.kind, "")
        limits = _limits(self.schema)
        rule = f"{kind or _FORMATS.get(str(self.schema.get('format', '')), '') or 'Text' * bool(limits)}{limits}"
        usual = f"{self.usual} unless you say otherwise." if self.usual is not None else ""
        if self.offered:
            return " ".join(part for part in (self.about, usual) if part)
        named = ", ".join(title for _, title in self.choices)
        listed = f"{'Any of these, with commas between' if self.several else 'One of these'}: {named}." if named else ""
        instead = [f"“{USUAL}” takes {self.usual}"] if self.usual is not None else []
        instead += [] if self.required else [f"“{LEAVE_OUT}” leaves it out"]
        said = "; ".join([*instead, f"“{DECLINE}” ends this"])
        return " ".join(part for part in (self.about, f"{rule}." if rule else "", listed, f"({said}.)") if part)

    def value(self, words: str) -> Value:
        """What a person's words mean here; none take the default.

        Raises:
            BadInput: they are no such value; says what one would be.
        """
        said = words.strip()
        if self.fallback is not None and said.casefold() in ("", USUAL.casefold()):
            return self.fallback
        found = self._read(said)
        try:
            jsonschema.validate(found, {key: one for key, one in self.schema.items() if key != "format"})
            _demand_format(found, str(self.schema.get("format", "")))
        except (jsonschema.ValidationError, ValueError) as error:
            why = error.message if isinstance(error, jsonschema.ValidationError) else str(error)
            raise BadInput(f"{one_line(why, 200)}.") from None
        except jsonschema.SchemaError:
            raise BadInput("The server's own rule for this cannot be read.") from None
        return found

    def _read(self, said: str) -> Value:
        if self.several:
            return [self._chosen(one.strip()) for one in said.split(",") if one.strip()]
        if self.choices:
            return self._chosen(said)
        try:
            match self.kind:
                case "integer":
                    return int(said)
                case "number":
                    return float(said)
                case "boolean":
                    return {YES: True, "y": True, "true": True, NO: False, "n": False, "false": False}[said.lower()]
                case _:
                    return said
        except (ValueError, KeyError):
            kind = {"integer": "whole number", "number": "number", "boolean": "yes or no"}[self.kind]
            raise BadInput(f"{one_line(said, 60)!r} is no {kind}.") from None

    def _chosen(self, said: str) -> str:
        for value, title in self.choices:
            if said.casefold() in (value.casefold(), title.casefold()):
                return value
        raise BadInput(f"{one_line(said, 60)!r} is none of the choices.")


_FORMATS = {
    "email": "An e-mail address",
    "uri": "An address such as https://example.org",
    "date": "A day such as 2026-07-28",
    "date-time": "A moment such as 2026-07-28T14:30:00Z",
}


def fields_of(schema: Mapping[str, Any]) -> tuple[FormField, ...]:
    """The fields of a form, in its order.

    >>> [one.kind for one in fields_of({"properties": {"age": {"type": "integer"}}, "required": ["age"]})]
    ['integer']

    Raises:
        BadInput: it asks for more, or for other things, than a form may.
    """
    properties, required = schema.get("properties") or {}, schema.get("required") or ()
    if not isinstance(properties, Mapping) or len(properties) > MOST_FIELDS:
        raise BadInput(f"It has no fields, or more than {MOST_FIELDS}.")
    return tuple(_field(str(name), shape, name in required) for name, shape in properties.items())


def _field(name: str, shape: Any, required: bool) -> FormField:
    if not isinstance(shape, Mapping):
        raise BadInput(f"Its field {one_line(name, 60)!r} has no type.")
    kind, listed = str(shape.get("type", "string")), shape.get("items")
    items: Mapping[str, Any] = listed if isinstance(listed, Mapping) else {}
    several = kind == "array"
    if kind not in ("string", "integer", "number", "boolean") and not several:
        raise BadInput(f"Its field {one_line(name, 60)!r} is of the type {one_line(kind, 40)}, which no form may have.")
    choices = _choices(items if several else shape)
    if several and not choices:
        raise BadInput(f"Its field {one_line(name, 60)!r} has nothing to choose from.")
    title = one_line(clean(str(shape.get("title") or name)), 120)
    about = clean(str(shape.get("description") or ""))[:1_000].strip()
    return FormField(name, title, about, kind, dict(shape), required, choices, several, shape.get("default"))


def _choices(shape: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Values with their titles, in each of the ways in which they are written."""
    titled = shape.get("oneOf") or shape.get("anyOf")
    if isinstance(titled, Sequence) and not isinstance(titled, str):
        pairs = [(one.get("const"), one.get("title")) for one in titled if isinstance(one, Mapping)]
    else:
        values, names = shape.get("enum") or (), shape.get("enumNames") or ()
        pairs = [(one, names[at] if at < len(names) else one) for at, one in enumerate(values)]
    return tuple((str(value), one_line(clean(str(title or value)), 120)) for value, title in pairs)


def _limits(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    shortest, longest = schema.get("minLength"), schema.get("maxLength")
    if least is not None or most is not None:
        return _span(least, most, "")
    if shortest or longest is not None:
        return _span(shortest or None, longest, " characters")
    return ""


def _span(least: Any, most: Any, unit: str) -> str:
    if most is None:
        return f", at least {least}{unit}"
    return f", at most {most}{unit}" if least is None else f", {least} to {most}{unit}"


def _demand_format(value: Value, name: str) -> None:
    """Raises ValueError with what is wrong."""
    said = str(value)
    right = True
    match name:
        case "email":
            right = said.count("@") == 1 and all(said.split("@")) and not any(one.isspace() for one in said)
        case "uri":
            right = bool(urlsplit(said).scheme) and not any(one.isspace() for one in said)
        case "date" | "date-time":
            try:
                date.fromisoformat(said) if name == "date" else datetime.fromisoformat(said)
            except ValueError:
                right = False
        case _:
            return
    if not right:
        raise ValueError(f"{one_line(said, 60)!r} is not {_FORMATS[name][0].lower()}{_FORMATS[name][1:]}")
