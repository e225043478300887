"""A plain function as a tool: what the model reads of it, and what becomes of what it returns or raises."""

import enum
import json
import threading
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from angelia import Act, NoEffect, tool
from angelia.core.content import CallStatus
from angelia.core.errors import AngeliaError, ConfigError
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.testing.tools.checks import check_toolset
from angelia.testing.tools.harness import ToolHarness
from angelia.tools.function_tool import given_tools
from angelia.tools.schema import shown_schema

pytestmark = pytest.mark.anyio


class Bed(enum.Enum):
    """A bed of the garden."""

    NORTH = "north"
    SOUTH = "south"


@tool(effect=NoEffect())
def yield_of(bed: Bed, year: int = 2026, unit: Literal["kg", "lb"] = "kg", only: list[str] | None = None) -> float:
    """What a bed brought.

    Counts what was weighed,
    and nothing else.

    Args:
        bed (Bed): Which one.
        year: The year of the harvest,
            with four digits.
        unit: What to weigh in.
        only: What to count; everything, if it is not given.

    Returns:
        float: The weight.
    """
    if year < 2000:
        raise LookupError("nothing was weighed before 2000")
    return {Bed.NORTH: 23.5, Bed.SOUTH: 33.0}[bed] * (2.2 if unit == "lb" else 1)


@pytest.fixture
def harness(tmp_path: Path) -> ToolHarness:
    (tmp_path / "work").mkdir()
    sandbox = LocalSandbox(tmp_path / "work", home=tmp_path / "home", state=tmp_path / "state", confine="off")
    return ToolHarness(tmp_path / "work", sandbox)


def test_its_schema_comes_from_its_hints_and_its_docstring() -> None:
    schema = json.loads(bytes(shown_schema(yield_of.arguments)))
    assert yield_of.name == "yield_of"
    assert yield_of.description == "What a bed brought.\n\nCounts what was weighed,\nand nothing else."
    assert schema["required"] == ["bed"]
    assert schema["properties"]["bed"] == {
        "type": "string", "enum": ["north", "south"], "description": "Which one."
    }  # fmt: skip
    assert schema["properties"]["year"]["description"] == "The year of the harvest, with four digits."
    assert schema["properties"]["unit"]["enum"] == ["kg", "lb"]
    assert schema["additionalProperties"] is False


def test_it_is_still_the_function_that_it_was() -> None:
    assert yield_of(Bed.SOUTH, unit="lb") == pytest.approx(72.6)
    assert yield_of.__doc__ is not None


async def test_it_keeps_what_every_toolset_has_to(harness: ToolHarness) -> None:
    (make,) = given_tools([yield_of])
    await check_toolset(make, harness.root, harness.sandbox, {"yield_of": {"bed": "north"}})


async def test_what_it_returns_reaches_the_model_as_text_or_json(harness: ToolHarness) -> None:
    class Weighed(msgspec.Struct):
        bed: str
        kg: float

    @tool(effect=NoEffect())
    def give(what: str) -> Any:
        """Give something."""
        return {"text": "as it is", "nothing": None, "struct": Weighed("north", 23.5), "list": [1, "two"]}[what]

    said = {what: await harness.said(give, what=what) for what in ("text", "nothing", "struct", "list")}
    assert said == {"text": "as it is", "nothing": "done", "struct": '{"bed":"north","kg":23.5}', "list": '[1,"two"]'}


async def test_what_it_raises_is_told_to_the_model_and_ends_no_turn(harness: ToolHarness) -> None:
    with pytest.raises(AngeliaError, match="yield_of failed: LookupError: nothing was weighed before 2000"):
        await harness.run(yield_of, bed=Bed.NORTH, year=1999)

    @tool(effect=NoEffect())
    def odd() -> object:
        """Give what has no words."""
        return object()

    with pytest.raises(AngeliaError, match="odd failed: TypeError"):
        await harness.run(odd)


async def test_a_plain_function_leaves_the_loop_alone_and_a_coroutine_function_runs_in_it(harness: ToolHarness) -> None:
    @tool(effect=NoEffect())
    def plain() -> str:
        """Say where it runs."""
        return threading.current_thread().name

    @tool(effect=NoEffect())
    async def coroutine() -> str:
        """Say where it runs."""
        return threading.current_thread().name

    assert await harness.said(plain) != threading.main_thread().name
    assert await harness.said(coroutine, CallStatus.OK) == threading.main_thread().name


async def test_its_effect_may_depend_on_its_arguments(harness: ToolHarness) -> None:
    def effect(guests: int) -> Act | NoEffect:
        return Act("book", "book a table", f"{guests} guests", "book", changes=True) if guests else NoEffect()

    @tool(effect=effect)
    def book(guests: int) -> str:
        """Book a table."""
        return "booked"

    assert await harness.effects(book, guests=0) == (NoEffect(),)
    assert await harness.effects(book, guests=2) == (Act("book", "book a table", "2 guests", "book", changes=True),)

    def nothing() -> NoEffect:
        raise KeyError("what")

    @tool(effect=nothing)
    def lost() -> str:
        """Cannot say what it does."""
        return ""

    with pytest.raises(AngeliaError, match="The effect of lost failed: KeyError"):
        await harness.effects(lost)


def no_docstring(a: int) -> None: ...


def no_type(a) -> None:  # type: ignore[no-untyped-def]  # that is what is tried
    """Has a parameter without a type."""


def no_number(*each: int) -> None:
    """Takes any number."""


def no_schema(a: threading.Lock) -> None:
    """Takes what no JSON can say."""


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (no_docstring, "has no docstring"),
        (no_type, "`a` of the tool `no_type` has no type"),
        (no_number, r"`\*each: int` of the tool `no_number` cannot be named"),
        (no_schema, "no_schema.*cannot be"),
    ],
)
def test_what_cannot_be_a_tool_says_why(function: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        tool(effect=NoEffect())(function)


def test_a_function_that_does_not_say_what_it_does_is_no_tool() -> None:
    with pytest.raises(ConfigError, match="`no_docstring` does not say what it does to the world"):
        given_tools([no_docstring])  # type: ignore[list-item]  # that is what is tried


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="two tools of the name 'yield_of'"):
        given_tools([yield_of, yield_of])
