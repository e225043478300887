"""One browser, one server for all that looks at the page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.web.page.fake import FakeServer, serving
from tests.web.page.garden import garden
from tests.web.page.visits import chromium


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    """Started once for a file: while it runs, its thread has an event loop that no other test may share."""
    with chromium() as browser:
        yield browser


@pytest.fixture
def fake() -> FakeServer:
    """A server of its own for each test, with the garden's conversation."""
    return garden()


@pytest.fixture
def address(fake: FakeServer) -> Iterator[str]:
    """Where it listens."""
    with serving(fake) as url:
        yield url
