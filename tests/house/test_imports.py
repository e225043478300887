"""Nothing imports itself through others: no circle of imports, those that only a type checker sees included."""

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.house.sources import Source, imports, source, sources


def module_of(one: Source) -> str:
    """The dotted name by which a file is imported."""
    return one.name.removeprefix("src/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def import_graph(files: Iterable[Source]) -> Mapping[str, set[str]]:
    """Which of these modules each of them imports: at its top, inside functions, and for types alone."""
    trees = {module_of(one): one.tree for one in files}
    graph: dict[str, set[str]] = {}
    for module, tree in trees.items():
        named = [name for name, _ in imports(tree, only_when_loaded=False)]
        graph[module] = {found for name in named if (found := _module_in(name, trees)) and found != module}
    return graph


def _module_in(name: str, modules: Mapping[str, object]) -> str:
    """`a.b.c` is a module, or a name that the module `a.b` holds; nothing for what is none of ours."""
    return name if name in modules else parent if (parent := name.rpartition(".")[0]) in modules else ""


def circle_in(graph: Mapping[str, set[str]]) -> Sequence[str]:
    """One circle, from a module back to itself; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: Sequence[str] = error.args[1]
        return found
    return ()


def test_no_module_imports_itself_through_others() -> None:
    found = circle_in(import_graph(sources("src")))
    if found:
        pytest.fail(
            "A circle of imports:\n" + "\n".join(found) + "\nGive one of them what it needs as a value, a function "
            "or a protocol of its own; an import for types alone is an import.",
            pytrace=False,
        )


@pytest.mark.parametrize(
    "back",
    [
        "from angelia.core.a import A",
        "def f():\n  from angelia.core.a import A",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  from angelia.core.a import A",
        "from angelia.core import a",
        "import angelia.core.a",
    ],
)
def test_a_circle_is_found_however_it_is_hidden(back: str) -> None:
    there = source("src/angelia/core/a.py", "from angelia.core.b import B")
    assert not circle_in(import_graph([there, source("src/angelia/core/b.py", "import os")]))
    assert set(circle_in(import_graph([there, source("src/angelia/core/b.py", back)]))) == {
        "angelia.core.a",
        "angelia.core.b",
    }
