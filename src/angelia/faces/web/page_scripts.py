"""The page's modules, put together into one script.

A browser could read the sources as they lie there. But sixty small files, each compressed by itself, are half as large
again as one, and come in six rounds of requests. So they are put together in the order in which they need each other.
Ours stand beside each other in one scope, as if they were one module: no two give the same name to something at their
top, so that a name means one thing in the whole page. What is vendored has short names of its own, and stays in a
function that gives what is asked of it. No two modules may need each other, and what is exported is never assigned
again; all of this is refused here, but for the last, which the test of types holds.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from angelia.faces.web.script_text import squeezed

_FIRST_MODULE = "js/main.js"
_VENDORED = "vendor/"
_TAKEN = re.compile(r'^(?:import|(export)) ?(?:(\{[^}]*\}|\w+) ?from ?)?"([^"]+)";?', re.MULTILINE)
_LISTED = re.compile(r"\bexport ?(\{[^}]*\});?", re.MULTILINE)
_AT_THE_TOP = re.compile(r"^(export )?(?=(?:async )?(?:const|let|class|function) (\w+))", re.MULTILINE)
_DEFAULT = re.compile(r"\bexport default ")
_SOURCE_MAP = re.compile(r"\n//# sourceMappingURL=.*\s*$")


class _Module(Struct, frozen=True):
    """`takes` are the others that it needs, in its order, each with the names that it takes of it, as `theirs, ours`;
    `gives`, by the name under which others ask for it, is what it is called inside; `top` is what it alone defines.
    """

    body: str
    takes: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    gives: Mapping[str, str]
    top: tuple[str, ...]


def joined(sources: Mapping[str, str]) -> str:
    """Of the modules by their paths.

    Raises:
        ValueError: a module cannot be put together with the others; says which and why.
    """
    return _Script(sources).whole()


class _Script:
    """Modules on their way into one script."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self._modules: dict[str, _Module] = {}
        """In their order."""
        self._asked: dict[str, set[str]] = {}
        """What anybody takes of each module."""
        self._owners: dict[str, str] = {}

    def whole(self) -> str:
        self._place(_FIRST_MODULE, ())
        return "\n".join(map(self._written, self._modules))

    def _place(self, name: str, above: tuple[str, ...]) -> None:
        """After all that it needs."""
        if name in above:
            raise ValueError(f"{name} needs itself, by way of {' and '.join(above[above.index(name) + 1 :])}")
        if name in self._modules:
            return
        read = _read(name, self._sources[name])
        for other, pairs in read.takes:
            self._place(other, (*above, name))
            if missing := {theirs for theirs, _ in pairs} - set(self._modules[other].gives):
                raise ValueError(f"{name} needs {', '.join(sorted(missing))} of {other}, which gives no such thing")
            self._take(name, other, pairs)
        for one in read.top:
            if (owner := self._owners.setdefault(one, name)) != name:
                raise ValueError(f"{name} and {owner} both have something that is called {one}")
        self._modules[name] = read

    def _take(self, name: str, other: str, pairs: Iterable[tuple[str, str]]) -> None:
        for theirs, ours in pairs:
            self._asked.setdefault(other, set()).add(theirs)
            if not name.startswith(_VENDORED) and ours != _called(other, theirs):
                raise ValueError(f"the other name of {theirs} of {other} in {name} holds in no other module")

    def _written(self, name: str) -> str:
        module = self._modules[name]
        if not name.startswith(_VENDORED):
            return module.body
        asked = sorted(self._asked[name])
        taken = "".join(
            f"const {ours}={_called(other, theirs)};" for other, pairs in module.takes for theirs, ours in pairs
        )
        back = ",".join(f"{_called(name, one)}:{module.gives[one]}" for one in asked)
        names = ",".join(_called(name, one) for one in asked)
        return f"const{{{names}}}=(()=>{{{taken}{module.body}\nreturn{{{back}}}}})();"


def _read(name: str, text: str) -> _Module:
    """Without what names other modules."""
    takes: list[tuple[str, tuple[tuple[str, str], ...]]] = []
    gives: dict[str, str] = {}

    def taken(match: re.Match[str]) -> str:
        other = _beside(name, match[3])
        names = match[2] or ""
        pairs = _pairs(names) if names.startswith("{") or not names else [("default", names)]
        takes.append((other, tuple(pairs)))
        if match[1]:
            gives.update({ours: ours for _, ours in pairs})
        return ""

    def listed(match: re.Match[str]) -> str:
        gives.update({ours: theirs for theirs, ours in _pairs(match[1])})
        return ""

    def by_itself(_: re.Match[str]) -> str:
        gives["default"] = "_default"
        return "const _default="

    text = _DEFAULT.sub(by_itself, _LISTED.sub(listed, _TAKEN.sub(taken, _SOURCE_MAP.sub("", text))))
    if name.startswith(_VENDORED):
        return _Module(text, tuple(takes), gives, ())
    tops = _AT_THE_TOP.findall(text)
    gives |= {one: one for given, one in tops if given}
    return _Module(squeezed(_AT_THE_TOP.sub("", text)), tuple(takes), gives, tuple(one for _, one in tops))


def _beside(name: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def _called(name: str, given: str) -> str:
    """What a module gives by itself is called as the module is."""
    return posixpath.basename(name).removesuffix(".js") if given == "default" else given


def _pairs(names: str) -> list[tuple[str, str]]:
    """`{a, b as c}` as `(a, a), (b, c)`."""
    found = []
    for one in names.strip("{} \n").split(","):
        if one.strip():
            theirs, _, own = one.strip().partition(" as ")
            found.append((theirs, own or theirs))
    return found
