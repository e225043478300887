"""The page's modules, put together into few scripts.

A browser could read the sources as they lie there. But sixty small files, each compressed by itself, are half as large
again as one, and come in six rounds of requests. So they are put together in the order in which they need each other.
Ours stand beside each other in one scope, as if they were one module: no two give the same name to something at their
top, so that a name means one thing in the whole page. What is vendored has short names of its own, and stays in a
function that gives what is asked of it. No two modules may need each other, and what is exported is never assigned
again; all of this is refused here, but for the last, which the test of types holds.

What a module asks for while it runs (`import("./rooms.js")`) is a script of its own, fetched by who comes there: it
holds what it needs and no earlier script has, and takes the rest from those.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from angelia.faces.web.script_text import squeezed

SCRIPT = "page.js"
_FIRST_MODULE = "js/main.js"
_VENDORED = "vendor/"
_LATER = re.compile(r'\bimport\("([^"]+)"\)')
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
    later: tuple[str, ...]


def joined(sources: Mapping[str, str]) -> dict[str, str]:
    """By the name of each script, of the modules by their paths.

    Raises:
        ValueError: a module cannot be put together with the others; says which and why.
    """
    return _Scripts(sources).whole()


class _Scripts:
    """Modules on their way into few scripts."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self._modules: dict[str, _Module] = {}
        self._lies: dict[str, str] = {}
        """In which script each module is, in their order."""
        self._asked: dict[str, set[str]] = {}
        """What anybody takes of each module."""
        self._lent: set[tuple[str, str, str]] = set()
        """Who takes what of which earlier script."""
        self._owners: dict[str, str] = {}

    def whole(self) -> dict[str, str]:
        later = [*self._place(_FIRST_MODULE, SCRIPT, ())]
        firsts = {SCRIPT: _FIRST_MODULE}
        for name in later:  # it grows meanwhile
            script = posixpath.basename(name)
            if firsts.get(script) == name:
                continue
            if name in self._lies:
                raise ValueError(f"{name} is asked for later, and needed at once as well")
            firsts[script] = name
            later += self._place(name, script, ())
            self._asked[name] = set(self._modules[name].gives)
        return {script: self._script(script, first) for script, first in firsts.items()}

    def _place(self, name: str, script: str, above: tuple[str, ...]) -> list[str]:
        """After all that it needs; what it and those ask for later."""
        if name in above:
            raise ValueError(f"{name} needs itself, by way of {' and '.join(above[above.index(name) + 1 :])}")
        if name in self._lies:
            return []
        read = _read(name, self._sources[name])
        later: list[str] = []
        for other, pairs in read.takes:
            later += self._place(other, script, (*above, name))
            if missing := {theirs for theirs, _ in pairs} - set(self._modules[other].gives):
                raise ValueError(f"{name} needs {', '.join(sorted(missing))} of {other}, which gives no such thing")
            self._take(name, script, other, pairs)
        for one in read.top:
            if (owner := self._owners.setdefault(one, name)) != name:
                raise ValueError(f"{name} and {owner} both have something that is called {one}")
        self._modules[name], self._lies[name] = read, script
        return [*later, *read.later]

    def _take(self, name: str, script: str, other: str, pairs: Iterable[tuple[str, str]]) -> None:
        for theirs, ours in pairs:
            self._asked.setdefault(other, set()).add(theirs)
            if not name.startswith(_VENDORED) and ours != _called(other, theirs):
                raise ValueError(f"the other name of {theirs} of {other} in {name} holds in no other module")
            if (lender := self._lies[other]) != script:
                self._lent.add((script, lender, ours))

    def _script(self, script: str, first: str) -> str:
        """With what it takes of earlier ones, and lends to later ones."""
        lenders = {lender for by, lender, _ in self._lent if by == script}
        head = [
            f'import{{{_list(one for by, at, one in self._lent if (by, at) == (script, lender))}}}from"./{lender}";'
            for lender in sorted(lenders)
        ]
        bodies = [self._written(name) for name, at in self._lies.items() if at == script]
        lent = {one for _, lender, one in self._lent if lender == script}
        if script != SCRIPT:
            lent |= set(self._modules[first].gives)
        return "\n".join([*head, *bodies, *([f"export{{{_list(lent)}}};"] if lent else [])])

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
    later: list[str] = []

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

    def asked(match: re.Match[str]) -> str:
        later.append(_beside(name, match[1]))
        return f'import("./{posixpath.basename(later[-1])}")'

    text = _DEFAULT.sub(by_itself, _LISTED.sub(listed, _TAKEN.sub(taken, _SOURCE_MAP.sub("", text))))
    if name.startswith(_VENDORED):
        return _Module(text, tuple(takes), gives, (), ())
    tops = _AT_THE_TOP.findall(text)
    gives |= {one: one for given, one in tops if given}
    body = _LATER.sub(asked, squeezed(_AT_THE_TOP.sub("", text)))
    return _Module(body, tuple(takes), gives, tuple(one for _, one in tops), tuple(later))


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


def _list(names: Iterable[str]) -> str:
    return ",".join(sorted(set(names)))
