"""Changes to `config.toml`: looked through before they are written, with every comment kept, whole or not at all."""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_origin

from angelia.core.errors import BadInput, ConfigError
from angelia.service.settings.config import Config, as_one, told
from angelia.service.settings.faults import meant_by, setting_faults, type_of
from angelia.service.settings.private_file import write_private
from angelia.service.settings.toml_text import origins_in, parse, read_text, value_in

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_UNCHANGED = "Nothing was changed."


class ConfigFile:
    """The settings of one home. What is written can be read by its owner alone."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.path = home / "config.toml"

    def text(self) -> str:
        """What stands there, empty for no file.

        Raises:
            ConfigError: it cannot be read.
        """
        return read_text(self.path)

    def set(self, key: str, written: str) -> Any:
        """Give the setting `key` the value that is `written`; returns the value as it is stored.

        Raises:
            BadInput: there is no such setting, or it does not take this value; says what it takes.
            ConfigError: the file is no TOML.
        """
        with self._alone():
            tree, _ = parse(self.text())
            hint = _typed(key, tree)
            value = _value(written, hint)
            self._change(lambda document: _put(document, key, value))
            return value

    def set_all(self, values: Mapping[str, Any]) -> None:
        """Give several settings their values, by dotted key, at once: all or none. Raises as `set`."""
        with self._alone():

            def change(document: "TOMLDocument") -> "TOMLDocument":
                for key, value in values.items():
                    document = _put(document, key, value)
                return document

            self._change(change)

    def unset(self, key: str) -> bool:
        """Take a setting, or a group of them, out of the file; False if it does not stand there.

        Raises:
            ConfigError: the file is no TOML.
        """
        with self._alone():
            return self._change(lambda document: document if _remove(document, key) else None)

    def replace(self, text: str) -> None:
        """Put another text in the place of the whole.

        Raises:
            BadInput: something in it is wrong; names every fault with its line.
        """
        with self._alone():
            if lines := faults_in(self.path, text):
                raise BadInput(as_one(lines, self.path, _UNCHANGED))
            write_private(self.path, text)

    def has_line(self, line: str) -> bool:
        """Whether this line stands there, as a comment or not.

        Raises:
            ConfigError: the file cannot be read.
        """
        return any(one.lstrip("# ").rstrip() == line for one in self.text().splitlines())

    def add_comment(self, unless: str, lines: Sequence[str]) -> bool:
        """Add these lines at the end, as comments; False if the line `unless` stands there already.

        Raises:
            ConfigError: the file cannot be read.
        """
        with self._alone():
            if self.has_line(unless):
                return False
            before = self.text().rstrip("\n")
            added = "\n".join(f"# {line}".rstrip() for line in lines)
            write_private(self.path, f"{before}\n\n{added}\n" if before else f"{added}\n")
            return True

    def _change(self, change: Callable[["TOMLDocument"], "TOMLDocument | None"]) -> bool:
        """Change the document and write it, unless that brings a fault that was not there before; no document is no
        change.
        """
        import tomlkit

        before = self.text()
        _, unread = parse(before)
        if unread:
            lines = [f"{self.path}, {fault}" for fault in unread]
            raise ConfigError(as_one(lines, self.path, f"`angelia config edit` opens it. {_UNCHANGED}"))
        document = tomlkit.parse(before)
        earlier = {(fault.key, fault.problem) for fault in setting_faults(document.unwrap(), Config)}
        changed = change(document)
        if changed is None:
            return False
        faults = setting_faults(changed.unwrap(), Config)
        if new := [fault for fault in faults if (fault.key, fault.problem) not in earlier]:
            lines = [f"{fault.name}: {fault.problem} {fault.possible}".rstrip() for fault in new]
            raise BadInput(as_one(lines, self.path, _UNCHANGED))
        text = tomlkit.dumps(changed).strip("\n")
        write_private(self.path, f"{text}\n" if text else "")
        return True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process changes the file meanwhile."""
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(self.home, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def faults_in(path: Path, text: str) -> list[str]:
    """Everything that is wrong in a text, each with its line; empty for a text that is right."""
    tree, unread = parse(text)
    origins = origins_in(path, text, tree)
    return [
        *(f"{path}, {fault}" for fault in unread),
        *(told(fault, origins, path) for fault in setting_faults(tree, Config)),
    ]


def _typed(key: str, tree: Mapping[str, Any]) -> Any:
    hint = type_of(key.split("."), tree, Config)
    if hint is not None:
        return hint
    raise BadInput(
        f"There is no setting {key!r}.",
        meant_by(tuple(key.split(".")), Config),
        f"`angelia config show` lists them all. {_UNCHANGED}",
    )


def _value(written: str, hint: Any) -> Any:
    """What is written, as the type wants it: text needs no quotes, and a list no brackets.

    >>> _value("5", str), _value("5", int), _value("a b", tuple[str, ...])
    ('5', 5, ['a', 'b'])
    """
    value = value_in(written)
    if get_origin(hint) is tuple and not isinstance(value, list):
        return written.replace(",", " ").split()
    return written if hint is str and not isinstance(value, str) else value


def _put(document: "TOMLDocument", key: str, value: Any) -> "TOMLDocument":
    """The document with a value at a dotted key; the one that was handed in is changed, or of no use any more."""
    import tomlkit

    *groups, last = key.split(".")
    if not groups and last not in document:
        return tomlkit.parse(_with_line(tomlkit.dumps(document), tomlkit.dumps({last: value})))
    place: Any = document
    for at, name in enumerate(groups):
        below = place.get(name)
        if below is None:
            place[name] = below = tomlkit.table(is_super_table=at + 1 < len(groups))
        elif not isinstance(below, Mapping):
            raise BadInput(f"{'.'.join(groups[: at + 1])} is a value and no group.", then=_UNCHANGED)
        place = place[name]
    place[last] = _inline(value) if isinstance(value, Mapping) else value
    return document


def _with_line(text: str, line: str) -> str:
    r"""A text with one more line at its top level: before the first group, and before what is said about that.

    >>> _with_line("a = 1\n\n# about b\n[b]\n", "c = 2\n")
    'a = 1\nc = 2\n\n# about b\n[b]\n'
    """
    lines = text.splitlines(keepends=True)
    at = next((number for number, one in enumerate(lines) if one.lstrip().startswith("[")), len(lines))
    while at and at < len(lines) and lines[at - 1].lstrip().startswith("#"):
        at -= 1
    while at and not lines[at - 1].strip():
        at -= 1
    head, rest = "".join(lines[:at]), "".join(lines[at:])
    newline = "\n" if head and not head.endswith("\n") else ""
    return f"{head}{newline}{line}{chr(10) if rest.startswith(('[', '#')) else ''}{rest}"


def _inline(value: Mapping[str, Any]) -> Any:
    import tomlkit

    table = tomlkit.inline_table()
    table.update(value)
    return table


def _remove(document: "TOMLDocument", key: str) -> bool:
    """Take it out, and every group that is empty then."""
    *groups, last = key.split(".")
    places: list[Any] = [document]
    for name in groups:
        below = places[-1].get(name)
        if not isinstance(below, Mapping):
            return False
        places.append(below)
    if last not in places[-1]:
        return False
    del places[-1][last]
    for place, name in zip(reversed(places[:-1]), reversed(groups), strict=True):
        if not place[name]:
            del place[name]
    return True
