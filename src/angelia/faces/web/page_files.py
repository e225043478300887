"""The page's files as a browser gets them: few scripts, one style sheet, gzipped where it takes that.

The sources are plain ES modules and style sheets: nothing has to be built before they are served, and a browser could
read them as they lie there. But sixty small files, each compressed by itself, are half as large again as one, and come
in six rounds of requests. So they are put together when the page begins to be served, in the order in which they need
each other: each module becomes a function that is called once and gives what it exports. No two modules may need each
other, and what is exported is never assigned again; both hold, since the first is refused here and the second by the
test of types. Comments and indentation stay behind.

What a module asks for while it runs (`import("./rooms.js")`) is a script of its own, fetched by who comes there: it
holds what it needs and no earlier script has, and takes the rest from those.
"""

import gzip
import posixpath
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib.resources.abc import Traversable

from msgspec import Struct

SCRIPT, STYLE = "page.js", "page.css"
_FIRST_MODULE = "js/main.js"
_SHEETS = ("tokens", "base", "frame", "content", "widths")
"""Later ones overrule earlier ones."""
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain; charset=utf-8",
}
_IMPORT = re.compile(r'^import\s*(?:(\{[^}]*\}|\w+)\s*from\s*)?"([^"]+)";?', re.MULTILINE)
_LATER = re.compile(r'\bimport\("([^"]+)"\)')
_EXPORT_FROM = re.compile(r'^export\s*(\{[^}]*\})\s*from\s*"([^"]+)";?', re.MULTILINE)
_EXPORT_LIST = re.compile(r"\bexport\s*(\{[^}]*\});?")
_EXPORT_DEFAULT = re.compile(r"\bexport default ")
_EXPORT = re.compile(r"^export (?=(?:async )?(?:const|class|function) (\w+))", re.MULTILINE)


class PageFile(Struct, frozen=True):
    """What is served: as it is, and compressed."""

    body: bytes
    packed: bytes
    mime: str
    tag: str


def page_files(folder: Traversable) -> Mapping[str, PageFile]:
    """By the path under which each is served.

    Raises:
        ValueError: a module cannot be put together with the others; says which and why.
    """
    sources = _read(folder)
    served = {name: body for name, body in sources.items() if not name.endswith((".js", ".css"))}
    served |= {name: text.encode() for name, text in _Modules(sources).joined().items()}
    served[STYLE] = _style("\n".join(sources[f"css/{name}.css"].decode() for name in _SHEETS)).encode()
    return {
        name: PageFile(body, gzip.compress(body, 9, mtime=0), _TYPES[posixpath.splitext(name)[1]], _tag(body))
        for name, body in served.items()
    }


def _tag(body: bytes) -> str:
    return f'"{sha256(body).hexdigest()[:20]}"'


def _read(folder: Traversable, within: str = "") -> dict[str, bytes]:
    """The files that are meant for browsers, by their paths: what is not there when it starts is never there."""
    found: dict[str, bytes] = {}
    for one in sorted(folder.iterdir(), key=lambda file: file.name):
        path = f"{within}{one.name}"
        if one.is_dir():
            found |= _read(one, f"{path}/")
        elif posixpath.splitext(one.name)[1] in _TYPES:
            found[path] = one.read_bytes()
    return found


def _style(text: str) -> str:
    """Without comments, and without blanks where they mean nothing."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"\s*([{};])\s*|([:,])\s+", r"\1\2", text).replace(";}", "}")


def _script(text: str) -> str:
    """Without comments for readers and types. Those that end a line of code stay."""
    return _unindented(re.sub(r"/\*\*.*?\*/|^\s*//.*?$", "", text, flags=re.DOTALL | re.MULTILINE))


def _unindented(text: str) -> str:
    return "\n".join(line for part in text.splitlines() if (line := part.strip()))


class _Modules:
    """Modules on their way into few scripts."""

    def __init__(self, sources: Mapping[str, bytes]) -> None:
        self._sources = sources
        self._exports: dict[str, set[str]] = {}
        self._scripts: dict[str, list[str]] = {SCRIPT: []}
        self._script = SCRIPT
        self._lies: dict[str, str] = {}
        self._lent: set[tuple[str, str, str]] = set()
        self._later: list[str] = []

    def joined(self) -> dict[str, str]:
        """By the name of each script. In the first the first module comes last, after all that it needs: it alone
        stands at the top, where it may wait.
        """
        self._write(_FIRST_MODULE, ())
        for name in self._later:  # it grows meanwhile
            if name in self._exports:
                raise ValueError(f"{name} is asked for later, and needed at once as well")
            self._script = posixpath.basename(name)
            self._scripts[self._script] = []
            self._write(name, ())
            self._scripts[self._script].append(
                f"export const{{{','.join(sorted(self._exports[name]))}}}={_variable(name)};"
            )
        return {script: self._whole(script) for script in self._scripts}

    def _whole(self, script: str) -> str:
        """With what it takes from other scripts, and lends to them."""
        taken = {lender: _listed(lent for by, at, lent in self._lent if (by, at) == (script, lender))
                 for lender in self._scripts if lender != script}  # fmt: skip
        head = [f'import{{{names}}}from"./{lender}";' for lender, names in taken.items() if names]
        given = _listed(lent for _, lender, lent in self._lent if lender == script)
        return "\n".join([*head, *self._scripts[script], *([f"export{{{given}}};"] if given else [])])

    def _write(self, name: str, above: tuple[str, ...]) -> None:
        if name in self._exports:
            return
        if name in above:
            raise ValueError(f"{name} needs itself, by way of {' and '.join(above[above.index(name) + 1 :])}")
        text = self._with_later(name, _script(self._sources[name].decode()))
        given: dict[str, str] = {}

        def needed(path: str) -> str:
            other = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            self._write(other, (*above, name))
            if (lender := self._lies[other]) != self._script:
                self._lent.add((self._script, lender, _variable(other)))
            return other

        def handed_on(match: re.Match[str]) -> str:
            other = needed(match[2])
            given.update({own: f"{_variable(other)}.{theirs}" for theirs, own in self._known(name, match[1], other)})
            return ""

        def taken(match: re.Match[str]) -> str:
            other = needed(match[2])
            if not match[1]:
                return ""
            names = match[1] if match[1].startswith("{") else f"{{default as {match[1]}}}"
            taken = ",".join(
                theirs if theirs == own else f"{theirs}:{own}" for theirs, own in self._known(name, names, other)
            )
            return f"const{{{taken}}}={_variable(other)};"

        def listed(match: re.Match[str]) -> str:
            given.update({own: theirs for theirs, own in _pairs(match[1])})
            return ""

        def by_itself(match: re.Match[str]) -> str:
            given["default"] = "_default"
            return "const _default="

        text = _IMPORT.sub(taken, _EXPORT_FROM.sub(handed_on, text))
        text = _EXPORT_DEFAULT.sub(by_itself, _EXPORT_LIST.sub(listed, text))
        given.update({own: own for own in _EXPORT.findall(text)})
        text = _EXPORT.sub("", text)
        self._exports[name], self._lies[name] = set(given), self._script
        if name == _FIRST_MODULE:
            self._scripts[SCRIPT].append(text)
            return
        back = ",".join(own if own == value else f"{own}:{value}" for own, value in sorted(given.items()))
        self._scripts[self._script].append(f"const {_variable(name)}=(()=>{{{text}\nreturn{{{back}}}}})();")

    def _with_later(self, name: str, text: str) -> str:
        """What it asks for while it runs is put together after what is needed at once."""

        def later(match: re.Match[str]) -> str:
            other = posixpath.normpath(posixpath.join(posixpath.dirname(name), match[1]))
            if other not in self._later:
                self._later.append(other)
            return f'import("./{posixpath.basename(other)}")'

        return _LATER.sub(later, text)

    def _known(self, name: str, names: str, other: str) -> list[tuple[str, str]]:
        pairs = _pairs(names)
        if missing := {theirs for theirs, _ in pairs} - self._exports[other]:
            raise ValueError(f"{name} needs {', '.join(sorted(missing))} of {other}, which gives no such thing")
        return pairs


def _pairs(names: str) -> list[tuple[str, str]]:
    """`{a, b as c}` as `(a, a), (b, c)`."""
    found = []
    for one in names.strip("{} \n").split(","):
        if one.strip():
            theirs, _, own = one.strip().partition(" as ")
            found.append((theirs, own or theirs))
    return found


def _listed(names: Iterable[str]) -> str:
    return ",".join(sorted(set(names)))


def _variable(name: str) -> str:
    return "$" + re.sub(r"\W", "_", name.removesuffix(".js"))
