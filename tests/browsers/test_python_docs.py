"""Python's own documents, as Debian packs them: all that can be clicked there is named as Chromium names it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from angelia.browsers.chromium.tab import Tab
from tests.browsers.accessibility import differing
from tests.browsers.served_folder import served, tab_at
from tests.conftest import python_docs
from tests.examples import TIMES

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium"), pytest.mark.real("python-doc")]

PAGES = ["index", "tutorial/errors", "search"]
MORE = ["library/pathlib", "library/re", "whatsnew/3.11", "genindex-T", "glossary", "py-modindex", "download"]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Where they are."""
    folder = python_docs()
    assert folder is not None  # it is demanded above
    with served(folder) as port:
        yield port


@pytest.fixture(scope="module")
async def tab(port: int) -> AsyncIterator[Tab]:
    """A tab in which they are opened one after the other."""
    async with tab_at("docs.example", port) as tab:
        yield tab


@pytest.mark.parametrize("page", PAGES + MORE if TIMES else PAGES)
async def test_roles_and_names_are_those_of_the_accessibility_tree(tab: Tab, port: int, page: str) -> None:
    await tab.go(f"http://docs.example:{port}/{page}.html")
    lines = [line for line in (await tab.look(whole=True)).lines if line.ref]
    assert len(lines) > 10
    assert await differing(tab, lines) == []
