"""The tools there are: by name, as a model reads them, and from the text of a call to checked arguments."""

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct

from angelia.context.request import ToolSpec
from angelia.core.errors import UNREADABLE, ConfigError
from angelia.core.text import shorten
from angelia.tools.port import JsonArguments, Schema, Tool, Toolset
from angelia.tools.schema import shown_schema

_NUL = r"(?<!\\)(?:\\\\)*\\u0000"
"""An escaped NUL in JSON text; a backslash that is itself escaped is not meant."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What every provider takes as a tool's name (OpenAI, "Function calling"; Anthropic, "Define tools")."""


_LEGAL = "letters, digits, _ and -, at most 64"


class BadCall(Struct, frozen=True):
    """A call that never runs; `explanation` is for the model, which may call again."""

    explanation: str


class Registry:
    """A fixed set of tools in a fixed order. `faults` are sentences about third-party tools that could not be had."""

    def __init__(self, tools: Iterable[Tool], faults: tuple[str, ...] = ()) -> None:
        """Raises ConfigError for a name that is taken or that a provider would refuse."""
        self._tools: dict[str, Tool] = {}
        self.faults = faults
        for tool in tools:
            if tool.name in self._tools:
                raise ConfigError(f"There are two tools of the name {tool.name!r}.", then="Remove one of them.")
            if not _NAME.fullmatch(tool.name):
                raise ConfigError(f"A tool cannot be called {tool.name!r}: {_LEGAL}.")
            self._tools[tool.name] = tool

    @classmethod
    def of(cls, toolsets: Iterable[Toolset], faults: Iterable[str] = ()) -> "Registry":
        """The tools of these toolsets as they are now; what cannot be offered is left out, with a sentence in `faults`.

        Who comes first keeps a name.
        """
        tools: dict[str, Tool] = {}
        told = [*faults]
        for toolset in toolsets:
            try:
                found = [*toolset.tools()]
                specs = [(tool.name, shown_schema(tool.arguments)) for tool in found]
            except Exception as error:  # noqa: BLE001 - third-party code may raise anything; it is told, not hidden
                told.append(f"The tools of {toolset.name} cannot be had: {type(error).__name__}: {error}")
                continue
            for tool, (name, _) in zip(found, specs, strict=True):
                if name in tools:
                    told.append(f"The tool {name!r} of {toolset.name} is not used: that name is taken.")
                elif not _NAME.fullmatch(name):
                    told.append(f"The tool {name!r} of {toolset.name} is not used: a name has {_LEGAL}.")
                else:
                    tools[name] = tool
        return cls(tools.values(), tuple(told))

    def where(self, wanted: Callable[[str], bool]) -> "Registry":
        """Those of them that are wanted by their names."""
        return Registry((tool for name, tool in self._tools.items() if wanted(name)), self.faults)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order in which the model reads them."""
        return tuple(self._tools)

    def get(self, name: str) -> Tool | None:
        """The tool of that very name."""
        return self._tools.get(name)

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as a model reads them: the same bytes in every process of one version."""
        return self._specs

    @cached_property
    def _specs(self) -> tuple[ToolSpec, ...]:
        return tuple(
            ToolSpec(tool.name, tool.description, shown_schema(tool.arguments)) for tool in self._tools.values()
        )

    def parse(self, name: str, arguments: str) -> Struct | BadCall:
        """Checked arguments, or what to tell the model. JSON that is not whole and valid is never repaired."""
        tool = self._tools.get(name)
        if tool is None:
            return BadCall(f"There is no tool {shorten(name, 80)!r}. The tools are: {', '.join(self._tools)}.")
        if re.search(_NUL, arguments):
            return BadCall(f"{name} was not run: its arguments hold a NUL character (\\u0000), which no tool takes.")
        try:
            return _fitting(tool.arguments, arguments)
        except msgspec.ValidationError as error:
            schema = bytes(shown_schema(tool.arguments)).decode()
            return BadCall(f"{name} was not run: {error}. Its arguments must match this schema: {schema}")
        except UNREADABLE as error:
            return BadCall(
                f"{name} was not run: its arguments are not complete, valid JSON ({error}). "
                f"Write the whole call again. They began: {shorten(arguments, 200)}"
            )


def made(makers: Iterable[Callable[[], Toolset]]) -> tuple[list[Toolset], tuple[str, ...]]:
    """A toolset of each, and a sentence for each that could not be made."""
    toolsets, faults = [], []
    for make in makers:
        try:
            toolsets.append(make())
        except Exception as error:  # noqa: BLE001 - third-party code may raise anything; it is told, not hidden
            faults.append(f"The toolset of {make.__module__} cannot be had: {type(error).__name__}: {error}")
    return toolsets, tuple(faults)


def _fitting(wanted: type[Struct] | Schema, arguments: str) -> Struct:
    """The arguments as the tool takes them; raises msgspec's errors for what does not fit, or is no JSON."""
    if not isinstance(wanted, Schema):
        return msgspec.json.decode(arguments, type=wanted)
    values = msgspec.json.decode(arguments, type=dict[str, Any])
    if fault := wanted.fault(values):
        raise msgspec.ValidationError(fault)
    return JsonArguments(values)
