"""A plain function as a tool: its schema comes from its hints and docstring, its effect is said beside it."""

import asyncio
import inspect
import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Generic, ParamSpec, TypeVar, cast, get_type_hints

import msgspec
from msgspec import Meta, Struct

from angelia.core.content import Text
from angelia.core.errors import AngeliaError, ConfigError
from angelia.core.text import clean
from angelia.policy.verdict import Act, Effect, NoEffect
from angelia.tools.port import Tool, ToolOutcome, Toolset, Traits
from angelia.tools.registry import Registry
from angelia.tools.schema import compact_schema
from angelia.tools.standalone import Standalone

P = ParamSpec("P")
R = TypeVar("R")

FunctionEffect = NoEffect | Act
"""What a function may say that it does: nothing outside of the conversation, or something in words."""

_ARGUMENTS = re.compile(r"^ *(?:Args|Arguments|Parameters):\n((?:[ \t]+.*\n?|\n)*)", re.MULTILINE)
_OTHER_PARTS = re.compile(r"^ *(?:Returns|Raises|Yields|Examples?|Notes?):", re.MULTILINE)

logger = logging.getLogger("angelia.tools")


class FunctionTool(Generic[P, R]):
    """A function with what a model has to know of it; it can still be called as the function that it is."""

    def __init__(self, function: Callable[P, R], effect: "FunctionEffect | Callable[..., FunctionEffect]") -> None:
        """Raises ConfigError where the function cannot be a tool; see `tool`."""
        self._function, self._effect = function, effect
        self.name = function.__name__
        said = inspect.getdoc(function) or ""
        self.description = _description(said)
        if not self.description:
            raise ConfigError(
                f"The tool `{self.name}` has no docstring, so that no model knows what it is for.",
                then="Write in it what it does; `Args:` explains its parameters.",
            )
        self.traits = Traits(reads_only=isinstance(effect, NoEffect), replayable=isinstance(effect, NoEffect))
        self.arguments: type[Struct] = _arguments(function, self.name, _explained(said))
        compact_schema(self.arguments)
        self.__doc__ = said

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The function itself, judged by nobody."""
        return self._function(*args, **kwargs)

    async def effects(self, arguments: Struct, context: object) -> Sequence[Effect]:
        """What was said of it; where that depends on the arguments, it is asked."""
        if isinstance(self._effect, NoEffect | Act):
            return (self._effect,)
        try:
            found = self._effect(**_values(arguments))
        except Exception as error:
            raise self._failed("The effect of", error) from error
        if not isinstance(found, NoEffect | Act):
            raise ConfigError(f"The effect of {self.name} has to be NoEffect or Act, and is {found!r}.")
        return (found,)

    async def run(self, arguments: Struct, context: object) -> ToolOutcome:
        """Call it: a coroutine function here, any other in a thread. What it raises is told to the model."""
        call = partial(cast("Callable[..., Any]", self._function), **_values(arguments))
        try:
            found = await call() if inspect.iscoroutinefunction(self._function) else await asyncio.to_thread(call)
            return ToolOutcome((Text(_in_words(found)),))
        except AngeliaError:
            raise
        except Exception as error:
            raise self._failed("", error) from error

    def _failed(self, what: str, error: Exception) -> AngeliaError:
        logger.warning("the function of the tool %s failed", self.name, exc_info=error)
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        return AngeliaError(f"{what} {self.name} failed: {clean(said)}".strip())


def tool(*, effect: FunctionEffect | Callable[..., FunctionEffect]) -> Callable[[Callable[P, R]], FunctionTool[P, R]]:
    """Make a function a tool. `effect` says what a call does to the world, and is judged before it runs.

    `NoEffect()`: nothing outside of the conversation, so it runs unasked, beside others, and again after a crash.
    An `Act` names what it does, in words that a person can say yes to. A function of the same parameters gives one of
    them for each call.

    >>> @tool(effect=NoEffect())
    ... def area(width: float, height: float = 1.0) -> float:
    ...     '''The area of a bed.
    ...
    ...     Args:
    ...         width: In metres.
    ...     '''
    ...     return width * height
    >>> area(2, 3), area.name, area.description
    (6, 'area', 'The area of a bed.')

    Raises:
        ConfigError: it has no docstring, a parameter without a type or of no fixed number, or a type that no JSON
            schema can say.
    """
    return lambda function: FunctionTool(function, effect)


def given_tools(tools: Iterable[Tool], taken: Collection[str] = ()) -> tuple[Callable[[], Toolset], ...]:
    """What makes a toolset of them, for each conversation anew. `taken` are the names of the other tools.

    Raises:
        ConfigError: one of them is a plain function, or its name is taken.
    """
    found = tuple(tools)
    for one in found:
        if getattr(one, "name", "") in taken:
            raise ConfigError(f"There is a tool `{one.name}` already.", then="Give yours another name.")
        if not callable(getattr(one, "effects", None)):
            name = getattr(one, "__name__", repr(one))
            raise ConfigError(
                f"The function `{name}` does not say what it does to the world.",
                "What a tool does is judged before it runs.",
                "Put @tool(effect=NoEffect()) above it, or an Act that says in words what it does.",
            )
    Registry(found)
    return (lambda: Standalone("the program", *found),)


def _arguments(function: Callable[..., Any], name: str, explained: Mapping[str, str]) -> type[Struct]:
    """The parameters as a Struct."""
    hints = get_type_hints(function, include_extras=True)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ConfigError(
                f"The parameter `{parameter}` of the tool `{name}` cannot be named by a model.",
                then="Give each parameter a name and a type.",
            )
        if parameter.name not in hints:
            raise ConfigError(
                f"The parameter `{parameter.name}` of the tool `{name}` has no type.",
                then=f"Write `{parameter.name}: str`, or what it is.",
            )
        kind = hints[parameter.name]
        if parameter.name in explained:
            kind = Annotated[kind, Meta(description=explained[parameter.name])]
        field = (parameter.name, kind)
        fields.append(field if parameter.default is parameter.empty else (*field, parameter.default))
    try:
        return msgspec.defstruct(f"{name}_arguments", fields, frozen=True, forbid_unknown_fields=True, kw_only=True)
    except TypeError as error:
        raise ConfigError(f"The tool `{name}` cannot be called by a model: {error}.") from error


def _values(arguments: Struct) -> dict[str, Any]:
    return {name: getattr(arguments, name) for name in arguments.__struct_fields__}


def _in_words(found: object) -> str:
    """A result as the model reads it: text as it is, anything else as JSON."""
    if isinstance(found, str):
        return clean(found)
    return "done" if found is None else clean(msgspec.json.encode(found).decode())


def _description(said: str) -> str:
    """A docstring without its sections."""
    return _OTHER_PARTS.split(_ARGUMENTS.split(said)[0])[0].strip()


def _explained(said: str) -> dict[str, str]:
    """What `Args:` says of each parameter; lines that are indented deeper go on."""
    found: dict[str, str] = {}
    block = _ARGUMENTS.search(said)
    name = ""
    for line in inspect.cleandoc("\n" + block[1]).splitlines() if block else ():
        begun = re.match(r"(\w+)(?: *\([^)]*\))?: *(.*)", line)
        if begun:
            name = begun[1]
            found[name] = begun[2].strip()
        elif name and line.strip():
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found
