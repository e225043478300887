"""The page of `/api`: every route that the page and the Python client use."""

from typing import get_type_hints

from msgspec import Struct

from angelia.client import answers
from angelia.faces.web.api.api_description import PATH, WORDS
from docs.markdown import page, table
from docs.read_source import words


def web_api() -> str:
    """Its routes, and the forms of what they answer."""
    rows = [(f"`{route}`", one.does, _name(one.takes), _name(one.gives)) for route, one in WORDS.items()]
    forms = [form for form in vars(answers).values() if _is_form(form)]
    return page(
        "The page's API",
        f"What `/api` has, printed from its table. The same as OpenAPI: `GET {PATH}`. How it is used from Python: "
        "[Let other programs speak to Angelia](../api.md#what-the-page-uses-from-python).",
        table(("route", "does", "takes", "gives"), rows),
        *(part for form in forms for part in (f"## {form.__name__}", words(form), _fields(form))),
    )


def _is_form(form: object) -> bool:
    return isinstance(form, type) and issubclass(form, Struct) and form.__module__ == answers.__name__


def _name(form: type | None) -> str:
    if form is None:
        return ""
    return "bytes" if form is bytes else f"`{form.__name__}`"


def _fields(form: type) -> str:
    return table(("field", "is"), [(f"`{name}`", f"`{_kind(kind)}`") for name, kind in get_type_hints(form).items()])


def _kind(kind: object) -> str:
    named = kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind)
    return named.replace(f"{answers.__name__}.", "").replace("typing.", "")
