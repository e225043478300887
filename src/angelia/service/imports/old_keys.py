"""Files with keys: which there are by name, and their values only to keep them out of what is taken."""

import re
from collections.abc import Iterator

import msgspec

from angelia.core.errors import UNREADABLE
from angelia.service.imports.old_home import HomeFile, OldHome
from angelia.service.imports.port import OldItem, OldKeys

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$")
_SECRET = re.compile(r"key|token|secret|password|passwd|credential|access|refresh|cookie|auth", re.IGNORECASE)
_SHORTEST = 8
_MOST_NAMES = 200


def environment_keys(home: OldHome, file: HomeFile) -> Iterator[OldItem]:
    """The keys of a file with `NAME=value` lines."""
    names, values = [], []
    for line in home.text(file.path).splitlines():
        match = _LINE.match(line)
        if match and match[2].strip("\"'") and not line.lstrip().startswith("#"):
            if _SECRET.search(match[1]):
                names.append(match[1])
            values.append(match[2].strip("\"'"))
    yield OldKeys(tuple(names[:_MOST_NAMES]), tuple(value for value in values if len(value) >= _SHORTEST))


def json_keys(home: OldHome, file: HomeFile) -> Iterator[OldItem]:
    """The texts in a file of JSON that stand under a name which sounds like a secret. Settings may be JSON with
    comments, in which they are looked for by their form.
    """
    text = home.text(file.path)
    try:
        found = [*_secrets(msgspec.json.decode(text), "", 0)]
    except UNREADABLE:
        pairs = re.findall(r"[\"']?([A-Za-z_][\w-]*)[\"']?\s*[:=]\s*[\"']([^\"'\n]+)[\"']", text)
        found = [(name, value) for name, value in pairs if _SECRET.search(name)]
    names = tuple(dict.fromkeys(name for name, _ in found))[:_MOST_NAMES]
    yield OldKeys(names, tuple(value for _, value in found if len(value) >= _SHORTEST))


def _secrets(value: object, name: str, deep: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str) and value and _SECRET.search(name):
        yield name, value
    elif isinstance(value, dict) and deep < 50:
        for inner, one in value.items():
            yield from _secrets(one, str(inner), deep + 1)
    elif isinstance(value, list) and deep < 50:
        for one in value:
            yield from _secrets(one, name, deep + 1)
