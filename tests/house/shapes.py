"""Rules about the shape of code: sizes, first lines, names, and tests that can fail."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from angelia.faces.cli.docs import pages
from tests.house.sources import Function, Rule, Source, calls, nodes

OURS = ("src",)
ALL = ("src", "tests", "bench")

MOST_LINES = 500
MOST_FUNCTION_LINES = 60
MOST_PARAMETERS = 6
BANNED = {"Manager", "Managers", "Helper", "Helpers", "Util", "Utils", "Handler", "Handlers", "Base"}
METAPHORS = {"room", "seat", "desk", "bench", "lane", "office", "house", "household", "doorway", "outfit", "parcel"}
COUNTED = (
    r" (?:(?:more|earlier|model|new) )?"
    r"(?:blocks|calls|conversations|days|entries|helpers|lines|messages|notes|questions|replies|steps|things|times|tries"
    r"|turns)\b"
)
"""What is counted in texts; bytes, characters and tokens are measured, and one of them is rare."""

Found = Iterator[tuple[str, str]]


def long_file(source: Source) -> Found:
    """Files over the ceiling."""
    if (lines := source.text.count("\n")) > MOST_LINES:
        yield source.name, f"{source.name}: {lines} lines"


def long_function(source: Source) -> Found:
    """Functions over the ceiling, docstring included."""
    for name, function in source.functions():
        lines = (function.end_lineno or 0) - function.lineno + 1
        if lines > MOST_FUNCTION_LINES:
            yield name, f"{source.at(function)} {name}: {lines} lines"


def many_parameters(source: Source) -> Found:
    """Functions that take more than six, `self` aside."""
    for name, function in source.functions():
        given = function.args
        every = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
        count = len([arg for arg in every if arg and arg.arg not in ("self", "cls")])
        if count > MOST_PARAMETERS:
            yield name, f"{source.at(function)} {name}: {count} parameters"


def crowded_assignment(source: Source) -> Found:
    """Assignments to three attributes and more at once."""
    for node in nodes(source.tree):
        if isinstance(node, ast.Assign):
            targets = [one for target in node.targets for one in getattr(target, "elts", [target])]
            if len([target for target in targets if isinstance(target, ast.Attribute)]) > 2:
                yield source.place, source.at(node)


def no_idea(source: Source) -> Found:
    """Modules whose first line does not say their idea in one sentence. Empty `__init__.py` of tests have none."""
    if not source.text and source.name.startswith("tests/") and source.name.endswith("/__init__.py"):
        return
    first = (ast.get_docstring(source.tree) or "").partition("\n")[0]
    on_line_1 = bool(source.tree.body) and source.tree.body[0].lineno == 1
    if not on_line_1 or not first.endswith(".") or re.search(r"[.!?] [A-Z]", first):
        yield source.name, f"{source.name}:1 {first!r}"


def busy_init(source: Source) -> Found:
    """`__init__.py` files that do something."""
    if source.name.endswith("/__init__.py") and len(source.tree.body) != 1:
        yield source.name, source.name


def empty_name(source: Source) -> Found:
    """Classes and modules whose name says nothing."""
    for node in nodes(source.tree):
        if isinstance(node, ast.ClassDef) and BANNED & set(re.findall(r"[A-Z][a-z]*", node.name)):
            yield f"{source.place}:{node.name}", f"{source.at(node)} {node.name}"
    if BANNED & {word.capitalize() for word in re.split(r"[/_.]", source.place)}:
        yield source.place, source.name


def metaphor(source: Source) -> Found:
    """Names of modules, classes, functions, parameters, variables and attributes that are a picture of the thing."""
    modules = [(name, source.tree) for name in source.place.removesuffix(".py").split("/")]
    for name, node in [*modules, *_named(source.tree)]:
        words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
        if METAPHORS & (words | {word.removesuffix("s") for word in words}):
            yield f"{source.place}:{name}", f"{source.at(node)} {name}"


def _named(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for node in nodes(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, node
            case ast.arg(arg=name):
                yield name, node
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node
            case ast.alias(asname=str(name)):
                yield name, node
            case _:
                continue


def claimless_test(source: Source) -> Found:
    """Tests that assert nothing, neither themselves nor through a function of the same file."""
    local = {function.name: function for _, function in source.functions()}
    for name, function in source.functions():
        if function.name.startswith("test_") and not _claims(function, local, frozenset()):
            yield name, f"{source.at(function)} {function.name}"


CLAIMING = re.compile(r"pytest\.(raises|fail|warns)|(.*\.)?(assert|check|checked)(_\w+)?(\.run)?")


def _claims(function: Function, local: dict[str, Function], seen: frozenset[str]) -> bool:
    if any(isinstance(node, ast.Assert) for node in nodes(function)):
        return True
    names = {name.removeprefix("self.") for name, _ in calls(function)}
    return any(
        CLAIMING.fullmatch(name) or (name in local and name not in seen and _claims(local[name], local, seen | {name}))
        for name in names
    )


def uncounted(source: Source) -> Found:
    """Numbers before a plural that may be one, in f-strings. A constant is not, and neither is a branch of `if`."""
    if source.place.startswith("testing/"):
        return
    chosen = {id(one) for node in nodes(source.tree) if isinstance(node, ast.IfExp) for one in ast.walk(node)}
    for node in nodes(source.tree):
        if not isinstance(node, ast.JoinedStr) or id(node) in chosen:
            continue
        for number, words in pairwise(node.values):
            if not isinstance(number, ast.FormattedValue) or not isinstance(words, ast.Constant):
                continue
            plural = re.match(COUNTED, str(words.value))
            told = ast.unparse(number.value)
            if plural and told.rpartition(".")[2] != told.rpartition(".")[2].upper():
                yield source.place, f"{source.at(number)}: {{{told}}}{plural[0]}"


def absent_document(source: Source) -> Found:
    """Texts that name a document by where it lies in the source, or one that there is not."""
    known = pages()
    for node in nodes(source.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = re.findall(r"(?<![\w/.-])docs/[\w/-]+\.md", node.value)
            asked = re.findall(r"angelia docs ([a-z][\w/-]*)", node.value)
            for one in [*named, *(page for page in asked if page not in known)]:
                yield source.place, f"{source.at(node)}: {one}"


RULES = [
    Rule(
        "a document is named as everybody can read it",
        OURS,
        absent_document,
        "Name it by the command that shows it, `angelia docs PAGE`: an installed copy has no folder docs/ beside it.",
        ("src/angelia/core/refused.py", 'HOW = "docs/how-to/irc.md says how, or `angelia docs no-such-page`."'),
    ),
    Rule(
        "one of something is told in the singular",
        OURS,
        uncounted,
        "Write {counted(number, 'call')}, of core/counts.py.",
        ("src/angelia/core/sentences.py", 'def f(steps):\n  return f"Stopped after {steps} model calls."'),
    ),
    Rule(
        "a file has at most 500 lines",
        ALL,
        long_file,
        "A file has one idea: find the second one and give it a file of its own.",
        ("src/angelia/core/long.py", '"""Long."""\n' * 501),
        {
            "src/angelia/core/entry.py": "the log's one closed vocabulary is read best in one place",
        },
    ),
    Rule(
        "a function has at most 60 lines",
        ALL,
        long_function,
        "Name its steps and make each a function.",
        ("src/angelia/core/long.py", "class A:\n  def f(self):\n" + "    1\n" * 60),
    ),
    Rule(
        "a function has at most 6 parameters",
        OURS,
        many_parameters,
        "Some of them belong together: make them a value with a name.",
        ("src/angelia/core/wide.py", "class A:\n  def f(self, a, b, /, c, d, *, e, f, **g): ..."),
    ),
    Rule(
        "a line assigns to two attributes at most",
        OURS,
        crowded_assignment,
        "Give each its line: an attribute is looked for by its name at the beginning of one.",
        ("src/angelia/core/crowd.py", "class A:\n  def f(self):\n    self.a, self.b, self.c = 1, 2, 3"),
    ),
    Rule(
        "a module begins by saying its one idea in one sentence",
        ALL,
        no_idea,
        "Line 1 is a docstring, and its first line is one whole sentence that a stranger understands.",
        ("src/angelia/core/two.py", '"""One idea. And another."""'),
    ),
    Rule(
        "an __init__.py holds only a docstring",
        OURS,
        busy_init,
        "Importing one module must not import its neighbours: move the code into a module with a name.",
        ("src/angelia/core/__init__.py", '"""A package."""\nimport angelia.core.entry'),
        {"src/angelia/__init__.py": "holds the version"},
    ),
    Rule(
        "names say what a thing is",
        ALL,
        empty_name,
        f"None of {', '.join(sorted(BANNED))}: use the field's own word for what it is.",
        ("src/angelia/store/media/blobs.py", "class BlobManager: ..."),
    ),
    Rule(
        "names are the field's own words",
        OURS,
        metaphor,
        f"None of {', '.join(sorted(METAPHORS))}: the glossary in ARCHITECTURE.md has the word for what it is.",
        ("src/angelia/channels/lines.py", "class ChatLanes:\n  def put(self): self._open_room = 1"),
    ),
    Rule(
        "every test can fail",
        ("tests",),
        claimless_test,
        "State the claim: assert it, or expect the error by pytest.raises.",
        ("tests/core/test_x.py", "def test_it():\n  helped()\ndef helped():\n  print(1)"),
    ),
]
