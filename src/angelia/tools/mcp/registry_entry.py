"""A registry's description of a server (`server.json`), made into settings.

The format is that of modelcontextprotocol/registry, "server.json Format Specification". It is somebody else's word:
what comes of it is shown whole before it counts, and secrets are named, never filled in.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from angelia.core.errors import BadInput

_VARIABLE = re.compile(r"\{([A-Za-z0-9_.-]+)\}")
_RUNTIMES = {"npm": "npx", "pypi": "uvx", "oci": "docker", "nuget": "dnx"}
"""What starts a package of each kind, unless it says otherwise."""


class AskedInput(Struct, frozen=True, rename="camel"):
    """A value that the person may have to give."""

    value: str = ""
    default: str = ""
    is_required: bool = False
    is_secret: bool = False
    variables: dict[str, "AskedInput"] = {}


class NamedInput(AskedInput, frozen=True, rename="camel"):
    """A variable of the environment, or a header."""

    name: str = ""


class Argument(AskedInput, frozen=True, rename="camel"):
    """A word of a command line, or two; `value_hint` names one that has no name."""

    type: Literal["positional", "named"] = "positional"
    name: str = ""
    value_hint: str = ""


class Package(Struct, frozen=True, rename="camel"):
    """A program that a package manager can start."""

    registry_type: str
    identifier: str
    version: str = ""
    runtime_hint: str = ""
    transport: dict[str, Any] = {}
    runtime_arguments: tuple[Argument, ...] = ()
    package_arguments: tuple[Argument, ...] = ()
    environment_variables: tuple[NamedInput, ...] = ()


class Remote(Struct, frozen=True, rename="camel"):
    """A site."""

    type: str
    url: str
    headers: tuple[NamedInput, ...] = ()
    variables: dict[str, AskedInput] = {}


class RegistryEntry(Struct, frozen=True, rename="camel"):
    """A server with the ways to have it."""

    name: str
    description: str = ""
    packages: tuple[Package, ...] = ()
    remotes: tuple[Remote, ...] = ()


class _Envelope(Struct, frozen=True):
    """As a registry's API hands it out."""

    server: RegistryEntry


def entry_in(text: bytes) -> RegistryEntry:
    """The server that a file describes.

    Raises:
        BadInput: it describes none.
    """
    try:
        return msgspec.json.decode(text, type=_Envelope).server
    except msgspec.MsgspecError:
        pass
    try:
        return msgspec.json.decode(text, type=RegistryEntry)
    except msgspec.MsgspecError as error:
        raise BadInput(f"This is no server.json: {error}.", then="See modelcontextprotocol.io, “Registry”.") from None


def settings_of(entry: RegistryEntry, given: Mapping[str, str]) -> dict[str, Any]:
    """The settings of it: its site, if it has one, else its first package that can be started. `given` are the
    person's values, by the names of what asks for them; a secret is a handle on a variable of its name.

    >>> settings_of(RegistryEntry("io.example/a", packages=(Package("pypi", "a-server", "1.2"),)), {})
    {'command': ['uvx', 'a-server==1.2']}

    Raises:
        BadInput: there is no way that could be used, or values are missing; names them all.
    """
    values = _Values(given)
    remote = next((one for kind in ("streamable-http", "sse") for one in entry.remotes if one.type == kind), None)
    package = next((one for one in entry.packages if one.registry_type in _RUNTIMES and _over_pipes(one)), None)
    if remote:
        made = _site(remote, values)
    elif package:
        made = _program(package, values)
    else:
        kinds = ", ".join([one.registry_type for one in entry.packages] + [one.type for one in entry.remotes])
        raise BadInput(f"There is no way to {entry.name} that could be used here ({kinds or 'it names none'}).")
    if values.missing:
        raise BadInput(
            f"{entry.name} wants to know {', '.join(values.missing)}.",
            then=" ".join(f"--value {name}=…" for name in values.missing),
        )
    return made


class _Values:
    """Fills in what is asked for, and notes what is missing."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self.missing: list[str] = []

    def of(self, name: str, asked: AskedInput) -> str:
        """The value of an input; empty for one that may be left away."""
        if name in self._given:
            return self._given[name]
        if asked.value:
            return _VARIABLE.sub(lambda found: self._variable(found[1], asked.variables), asked.value)
        if asked.default or not asked.is_required:
            return asked.default
        if asked.is_secret:
            return f"${{{re.sub('[^A-Z0-9_]', '_', name.upper())}}}"
        self.missing.append(name)
        return ""

    def _variable(self, name: str, variables: Mapping[str, AskedInput]) -> str:
        return self.of(name, variables[name]) if name in variables else f"{{{name}}}"

    def all(self, asked: tuple[NamedInput, ...]) -> dict[str, str]:
        """The values that there are, by name."""
        found = {one.name: self.of(one.name, one) for one in asked}
        return {name: value for name, value in found.items() if value}

    def words(self, asked: tuple[Argument, ...]) -> list[str]:
        """The words of arguments, in order."""
        words: list[str] = []
        for one in asked:
            flag = one.type == "named"
            value = self.of(one.name.lstrip("-") or one.value_hint or "argument", one)
            alone = flag and not (one.value or one.default or one.value_hint or one.is_required)
            words += [one.name] if flag and (value or alone) else []
            words += [value] if value else []
        return words


def _over_pipes(package: Package) -> bool:
    return bool(package.transport.get("type", "stdio") == "stdio")


def _site(remote: Remote, values: _Values) -> dict[str, Any]:
    url = values.of("url", AskedInput(value=remote.url, variables=remote.variables))
    headers = values.all(remote.headers)
    transport = {} if remote.type == "streamable-http" else {"transport": "sse"}
    return {"url": url, **transport, **({"headers": headers} if headers else {})}


def _program(package: Package, values: _Values) -> dict[str, Any]:
    env = values.all(package.environment_variables)
    runtime = package.runtime_hint or _RUNTIMES[package.registry_type]
    own, words = values.words(package.runtime_arguments), values.words(package.package_arguments)
    start: dict[str, Callable[[], list[str]]] = {
        "npm": lambda: [*(own or ["-y"] * (runtime == "npx")), _at(package, "@")],
        "pypi": lambda: [*own, _at(package, "==")],
        "oci": lambda: ["run", "-i", "--rm", *own, *_handed_in(env), _at(package, ":")],
        "nuget": lambda: [*own, _at(package, "@"), *(["--"] if words else [])],
    }
    command = [runtime, *start[package.registry_type](), *words]
    return {"command": command, **({"env": env} if env else {})}


def _at(package: Package, sign: str) -> str:
    """A package in its version; an image may name one itself."""
    named = sign == ":" and ":" in package.identifier.rpartition("/")[2]
    return package.identifier if named or not package.version else f"{package.identifier}{sign}{package.version}"


def _handed_in(env: Mapping[str, str]) -> list[str]:
    """Docker hands a variable on by its name."""
    return [word for name in env for word in ("-e", name)]
