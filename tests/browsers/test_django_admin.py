"""Django's admin, which nobody here wrote: logged into by handle, and its records kept, as its own database tells."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from angelia.service.secrets.site_secrets import SiteSecrets
from angelia.service.secrets.store import KeptSecret, SecretStore
from angelia.testing.tools.harness import ToolHarness
from angelia.tools.browser.act_on_page import Step
from angelia.tools.browser.toolset import BrowserTools
from tests.browsers.accessibility import differing
from tests.browsers.django_admin import PASSWORD, USER, DjangoAdmin, django_admin
from tests.browsers.visitor import Visitor

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium"), pytest.mark.real("django")]


@pytest.fixture
def django(tmp_path: Path) -> Iterator[DjangoAdmin]:
    """One with nothing in it."""
    (folder := tmp_path / "django").mkdir()
    with django_admin(folder) as running:
        yield running


class Visit(Visitor):
    """`differing` are the names of what was seen that are others in Chromium's accessibility tree."""

    def __init__(self, tools: ToolHarness) -> None:
        super().__init__(tools)
        self.differing: list[str] = []

    async def log_in(self, handle: str) -> str:
        """As a person whose password is kept by this handle."""
        user, word, button = map(self.ref, ('textbox "Username:"', 'textbox "Password:"', 'button "Log in"'))
        return await self.do(Step("fill", user, USER), Step("fill", word, secret=handle), Step("click", button))

    async def look(self) -> None:
        """See what is there now, and compare."""
        await super().look()
        toolset = self.tools.toolsets[0]
        assert isinstance(toolset, BrowserTools)
        assert toolset.browser is not None
        tab = toolset.browser.tab()
        self.differing += await differing(tab, [line for line in (await tab.look(whole=True)).lines if line.ref])


@pytest.mark.soak
async def test_a_record_is_added_changed_and_deleted_by_somebody_who_logs_in_by_handle(
    tools: ToolHarness, django: DjangoAdmin, tmp_path: Path
) -> None:
    store = SecretStore(tmp_path / "home")
    store.add("django/ann", KeptSecret(origins=(django.url(),), value=PASSWORD))
    tools.secrets = SiteSecrets(store)
    await tools.toolsets[0].open(tools.conversation())
    (tmp_path / "w/scan.pdf").write_bytes(b"%PDF-1.4 tea")
    visit = Visit(tools)
    await visit.open(django.url("/admin/"))
    assert "Welcome, ann." in await visit.log_in("django/ann")

    await visit.act(("click", 'link "Add"', ""), ("wait", "", "Add invoice"))
    added = await visit.act(
        ("fill", 'textbox "Title:"', "Tea, 4 €"),
        ("choose", 'combobox "State:"', "Paid"),
        ("fill", 'textbox "Due:"', "2031-05-06"),
        ("upload", 'file "Scan:"', "scan.pdf"),
        ("click", 'button "Save"', ""),
    )
    assert "was added successfully" in added
    assert django.stored() == [("Tea, 4 €", "paid", "2031-05-06", "scan.pdf")]
    assert (django.folder / "kept/scan.pdf").read_bytes() == b"%PDF-1.4 tea"

    await visit.act(("click", 'link "Tea, 4 €"', ""), ("wait", "", "Change invoice"))
    await visit.act(("click", 'link "Choose a Date"', ""))
    await visit.act(("click", 'link "20"', ""))
    changed = await visit.act(("fill", 'textbox "Title:"', "Coffee"), ("click", 'button "Save"', ""))
    assert "was changed successfully" in changed
    assert django.stored() == [("Coffee", "paid", "2031-05-20", "scan.pdf")]

    await visit.act(("click", 'checkbox "Select this object for an action - Coffee"', ""))
    await visit.act(("choose", 'combobox "Action:"', "Delete selected invoices"), ("click", 'button "Go"', ""))
    deleted = await visit.act(("click", 'button "Yes, I’m sure"', ""))
    assert "Successfully deleted 1 invoice" in deleted
    assert django.stored() == []
    # A sign without words, which says what it is for where the pointer rests: there Chromium names nothing.
    differing = {re.sub(r" \[.*", "", one) for one in visit.differing}
    assert differing == {'link "Choose a Date"'}
