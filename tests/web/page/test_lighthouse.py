"""Lighthouse finds no barrier and no bad practice on the page of a real home; how fast it is `make bench` says."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.web.page.lighthouse import scores
from tests.web.page.lived_home import lived_home
from tests.web.page.visits import leave, visit

pytestmark = [pytest.mark.real("chromium"), pytest.mark.real("npm"), pytest.mark.slow, pytest.mark.soak]


@pytest.mark.parametrize("place", ["overview", "c/{}", "conversations", "receipts", "schedule", "usage", "settings"])
def test_lighthouse_finds_nothing_at_a_desk_and_on_a_phone(chrome: Browser, tmp_path: Path, place: str) -> None:
    with lived_home(tmp_path) as home:
        page = visit(chrome, home.link)
        page.wait_for_selector(".items")
        cookies = [(one["name"], one["value"]) for one in page.context.cookies()]
        leave(page)
        address = f"{home.address}/#/{place.format(home.conversation)}"
        for desk in (True, False):
            found = scores(address, cookies, "accessibility", "best-practices", desk=desk)
            assert found == {"accessibility": 1, "best-practices": 1}, desk
