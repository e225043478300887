"""The text of the configuration: what it says, which of its lines cannot be read, and where each value stands."""

import re
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from angelia.core.errors import ConfigError, fault_words

_ASSIGNMENT = r"\s*([\w.\"'-]+\s*=|\[)"
"""A line that is whole by itself: without it, what follows means the same."""


def read_text(path: Path) -> str:
    """The file's text, empty for none.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {fault_words(error)}.", then="Mend the file, or move it away."
        ) from error


def parse(text: str) -> tuple[dict[str, Any], list[str]]:
    r"""What the text says, and a sentence for each line that is no TOML, which is left out then.

    >>> parse('model = oops\nfallback = []\n')
    ({'fallback': []}, ["line 1, at 'model': this is not TOML (Invalid value)."])
    """
    import tomllib

    faults: list[str] = []
    lines = text.splitlines()
    while True:
        try:
            return tomllib.loads("\n".join([*lines, ""])), faults
        except tomllib.TOMLDecodeError as error:
            where = re.search(r"line (\d+)", str(error))
            number = int(where[1]) if where else len(lines)
            stands = lines[number - 1].strip() if 0 < number <= len(lines) else ""
            key = stands.partition("=")[0].strip() or "the end of the file"
            problem = str(error).partition(" (at ")[0]
            faults.append(f"line {number}, at {key!r}: this is not TOML ({problem}).")
            if not re.match(_ASSIGNMENT, stands):
                return {}, faults
            lines[number - 1] = ""


def value_in(text: str) -> Any:
    """A value as TOML would read it; bare words are text.

    >>> value_in("20"), value_in("plan"), value_in('["a"]')
    (20, 'plan', ['a'])
    """
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def put(tree: dict[str, Any], key: str, value: Any) -> None:
    """Put a value at a dotted key.

    Raises:
        ConfigError: a part of the key is a value and no group.
    """
    *folders, last = key.split(".")
    for folder in folders:
        below = tree.setdefault(folder, {})
        if not isinstance(below, dict):
            raise ConfigError(f"The setting {key!r} does not exist: {folder!r} is a value, not a group.")
        tree = below
    tree[last] = value


def pairs(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its dotted key."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from pairs(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def origins_in(path: Path, text: str, tree: Mapping[str, Any]) -> dict[str, str]:
    """Where each value stands, by its dotted key."""
    return {key: f"{path}, line {_line_of(text, key)}" for key, _ in pairs(tree)}


def _line_of(text: str, key: str) -> int:
    """The line on which a dotted key stands, or the group that holds it; 1 where it cannot be told."""
    parts = key.split(".")
    for size in range(len(parts), 0, -1):
        if found := _line_with(text, parts[:size]):
            return found
    return 1


def _line_with(text: str, parts: list[str]) -> int:
    *groups, last = parts
    group, wanted, key = "", ".".join(groups), ".".join(parts)
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line)
        if header:
            group = header[1].replace(" ", "").replace('"', "")
            if group == key:
                return number
            continue
        named = line.partition("=")[0].strip().replace(" ", "").replace('"', "").replace("'", "")
        if "=" in line and f"{group}.{named}".lstrip(".") == key:
            return number
        if "=" in line and group == wanted and named == last:
            return number
    return 0


def wrong_number(value: Any) -> str:
    """What is wrong with a number, whatever setting it is of: a sentence; empty for a good one, and for what is none.

    >>> wrong_number(float("inf")), wrong_number(-1)
    ('No number as large is reckoned with.', '')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return "" if isfinite(value) and abs(value) < 1 << 63 else "No number as large is reckoned with."


def has_wrong_number(value: Any) -> bool:
    """Whether there is one anywhere in a tree of settings."""
    match value:
        case Mapping():
            return any(has_wrong_number(inner) for inner in value.values())
        case list():
            return any(has_wrong_number(inner) for inner in value)
        case _:
            return bool(wrong_number(value))
