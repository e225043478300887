"""What SECURITY.md claims is shown by tests: each sentence names some, and there are such tests."""

import ast
import re
from functools import cache

import pytest

from tests.docs.read_documents import ROOT

_NAMED = re.compile(r"`(test_\w+)`")
_BETWEEN_SENTENCES = re.compile(r"(?<=[.?!]) (?=[A-Z(*\[`])|(?<=[.?!][)*]) (?=[A-Z(*\[`])|(?<=\.\*\*) (?=[A-Z(*\[`])")
_NO_CLAIM = re.compile(r"([*-] )?\*\*[^*]+\.\*\*|\[(More|How)\]\(\S+\)\.?")
"""A heading in bold, or a link to more."""


def _claims() -> list[str]:
    """The sentences of "What holds"."""
    sentences = [one.strip() for block in _blocks("What holds")[1:] for one in _BETWEEN_SENTENCES.split(block)]
    return [one for one in sentences if not _NO_CLAIM.fullmatch(one)]


def _blocks(section: str) -> list[str]:
    text = (ROOT / "SECURITY.md").read_text().partition(f"## {section}\n")[2].partition("\n## ")[0]
    return [block for block in re.split(r"\n\n|\n(?=[*-] )", text) if block.strip()]


@cache
def _tests() -> frozenset[str]:
    """The functions that pytest collects, in classes too."""
    found: set[str] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        tree = ast.parse(path.read_text())
        methods = (one for scope in tree.body if isinstance(scope, ast.ClassDef) for one in scope.body)
        functions = (*tree.body, *methods)
        found |= {one.name for one in functions if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    return frozenset(found)


def test_there_is_much_to_show() -> None:
    assert len(_claims()) > 150


@pytest.mark.parametrize(
    "text", ["Said. [More](a.md)", "* **Here.** Said (`test_x`). And this.", "Said (a.b, c). `It` is."]
)
def test_a_sentence_that_names_no_test_is_seen_behind_one_that_does(text: str) -> None:
    sentences = [one for one in _BETWEEN_SENTENCES.split(text) if not _NO_CLAIM.fullmatch(one)]
    assert not all(map(_NAMED.search, sentences))


def test_each_sentence_names_the_tests_that_show_it() -> None:
    assert [claim for claim in _claims() if not _NAMED.search(claim)] == [], "a claim without a test is a wish"


@pytest.mark.parametrize("gap", _blocks("What does not hold"), ids=lambda gap: gap[:50])
def test_what_does_not_hold_names_a_test_or_says_that_none_shows_it(gap: str) -> None:
    assert _NAMED.search(gap) or re.search(r"No test (can show|shows it: )", gap)


def test_whatever_test_the_document_names_is_there() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    assert [name for name in _NAMED.findall(text) if name not in _tests()] == []
