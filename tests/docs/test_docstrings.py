"""The examples in docstrings show what really comes out."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import angelia

ROOT = Path(angelia.__file__).parent.parent
EXAMPLE = re.compile(r"^ *>>> ", re.MULTILINE)
EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in ROOT.rglob("*.py")
    if EXAMPLE.search(path.read_text(encoding="utf-8"))
)


def test_examples_are_found() -> None:
    assert "angelia.core.text" in EXAMPLES


@pytest.mark.parametrize("module", EXAMPLES)
def test_an_example_shows_what_comes_out(module: str) -> None:
    failed, tried = doctest.testmod(import_module(module))
    assert tried
    assert not failed, "the lines above say what came out instead"
