"""What SECURITY.md claims is shown by tests: each claim names some, and there are such tests."""

import ast
import re
from functools import cache
from itertools import takewhile

import pytest

from tests.docs.read_documents import ROOT

UNSHOWN = (
    "(`doctor` listens",  # says what listens besides, which is no promise
)
_NAMED = re.compile(r"`(test_\w+)`")


def _claims() -> list[str]:
    """Paragraphs and list items of "What holds"; one that only introduces the list below it counts with that list."""
    blocks = _blocks("What holds")[1:]
    claims = []
    for at, block in enumerate(blocks):
        items = list(takewhile(lambda other: other.startswith(("* ", "- ")), blocks[at + 1 :]))
        introduces = not block.startswith(("* ", "- ")) and items and not _NAMED.search(block)
        if not introduces:
            claims.append(block)
    return claims


def _blocks(section: str) -> list[str]:
    text = (ROOT / "SECURITY.md").read_text().partition(f"## {section}\n")[2].partition("\n## ")[0]
    return [block for block in re.split(r"\n\n|\n(?=[*-] )", text) if block.strip()]


@cache
def _tests() -> frozenset[str]:
    """The functions that pytest collects."""
    found: set[str] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        tree = ast.parse(path.read_text())
        found |= {one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    return frozenset(found)


def test_there_is_much_to_show() -> None:
    assert len(_claims()) > 40


@pytest.mark.parametrize("claim", _claims(), ids=lambda claim: claim[:50])
def test_each_claim_names_the_tests_that_show_it(claim: str) -> None:
    named = _NAMED.findall(claim)
    assert named or UNSHOWN[0] in claim, "a claim without a test is a wish"
    assert [name for name in named if name not in _tests()] == []


@pytest.mark.parametrize("gap", _blocks("What does not hold"), ids=lambda gap: gap[:50])
def test_what_does_not_hold_names_a_test_or_says_that_none_shows_it(gap: str) -> None:
    assert _NAMED.search(gap) or re.search(r"No test (can show|shows it: )", gap)


def test_whatever_test_the_document_names_is_there() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    assert [name for name in _NAMED.findall(text) if name not in _tests()] == []
