"""Getting in from elsewhere: a real page over TLS, a browser with a password, a passkey, and too many wrong ones."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from angelia.testing.model.steps import say
from tests.examples import TIMES
from tests.faces.angelia import MODEL, Place, serving
from tests.ports import free_port
from tests.web.elsewhere import PASSWORD, write_certificate
from tests.web.page.visits import axe, barriers, leave, visit, wider_than_its_window

pytestmark = [pytest.mark.real("chromium"), pytest.mark.real("npm"), pytest.mark.slow]

DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}
WIDTHS = (320, 768, 1440)


@contextmanager
def web(place: Place, origin: str, pair: tuple[Path, Path]) -> Iterator[None]:
    """`angelia web`, reached from everywhere; killed at the end."""
    settings = {"model": MODEL, "web.origin": origin, "web.certificate": pair[0], "web.certificate_key": pair[1]}
    listen = f"0.0.0.0:{origin.rpartition(':')[2]}"
    words = ["web", "--no-open", "--listen", listen, *(f"--set={name}={value}" for name, value in settings.items())]
    process = subprocess.Popen(
        [sys.executable, "-m", "angelia", *words],
        env=place.environment({"PYTHONPATH": os.pathsep.join(sys.path)}),
        cwd=place.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith(f"{origin}/#code=")
        yield
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def origin(tmp_path: Path) -> str:
    return f"https://localhost:{free_port()}"


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return write_certificate(tmp_path / "tls", "localhost")


def _with_device(page: Page) -> Any:
    """A device that holds passkeys and knows its owner."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    session.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})
    return session


def _looks_right(page: Page, source: str, place: str) -> None:
    """Without a barrier, dark at one width and light at another, by its place; `make soak` takes each width of both."""
    schemes: tuple[Literal["dark", "light"], ...] = ("dark", "light")
    for turn, scheme in enumerate(schemes, len(place)):
        page.emulate_media(color_scheme=scheme)
        for width in WIDTHS if TIMES else [WIDTHS[turn % 3]]:
            page.set_viewport_size({"width": width, "height": 800})
            assert barriers(page, source) == [], (place, scheme, width)
            assert wider_than_its_window(page) == [], (place, scheme, width)
    page.set_viewport_size({"width": WIDTHS[-1], "height": 800})


def test_somebody_elsewhere_gets_in_by_password_makes_a_passkey_and_comes_back_with_it(
    chrome: Browser, tmp_path: Path, origin: str, pair: tuple[Path, Path]
) -> None:
    """By keyboard; the server is killed on the way, and who was logged in still is."""
    source = axe()
    with serving(tmp_path, [say("Never asked.")]) as place:
        place.run("web", "password", stdin=PASSWORD.encode() + b"\n")
        with web(place, origin, pair):
            page = visit(chrome, origin, ignore_https_errors=True, reduced_motion="reduce")
            _with_device(page)
            expect(page.locator("#password")).to_be_visible()
            _looks_right(page, source, "login")
            page.keyboard.press("Tab")
            expect(page.locator("#password")).to_be_focused()
            page.keyboard.type("a wrong one")
            page.keyboard.press("Enter")
            expect(page.get_by_role("alert").first).to_contain_text("This is not the password")
            _looks_right(page, source, "refused")
            expect(page.locator("#password")).to_be_focused()
            page.locator("#password").fill(PASSWORD)
            page.keyboard.press("Enter")
            expect(page.get_by_role("navigation").first).to_be_visible()
            assert [one["name"] for one in page.context.cookies()] == ["__Host-angelia-login"]

            page.goto(f"{origin}/#/logins/new")
            page.get_by_label("What you call it").fill("My phone")
            page.keyboard.press("Enter")
            expect(page.locator(".rows")).to_contain_text("Passkey at localhost")
            page.get_by_role("link", name="Failed Password").click()
            expect(page.locator(".detail")).to_contain_text("It is another one.")
        with web(place, origin, pair):
            page.goto(f"{origin}/#/logins")
            page.reload()
            page.locator(".rows a", has_text="This one").click()
            expect(page.locator(".detail")).to_contain_text("Ends unused")
            _looks_right(page, source, "logins")
            page.goto(f"{origin}/#/logins/new")
            expect(page.get_by_label("What you call it")).to_be_visible()
            _looks_right(page, source, "a new passkey")
            page.locator(".rows a", has_text="This one").click()
            page.get_by_role("button", name="Log out everywhere").click()
            key = page.get_by_role("button", name="Log in with a passkey")
            expect(key).to_be_visible()
            _looks_right(page, source, "login with a passkey")
            key.click()
            expect(page.locator(".rows")).to_contain_text("My phone")

            page.locator(".rows a", has_text="Passkey at localhost").click()
            page.get_by_role("button", name="Remove it").click()
            expect(page.locator(".rows")).not_to_contain_text("Passkey at localhost")
            leave(page)


@pytest.mark.soak
def test_after_too_many_wrong_passwords_the_page_says_how_long_to_wait(
    chrome: Browser, tmp_path: Path, origin: str, pair: tuple[Path, Path]
) -> None:
    with serving(tmp_path, [say("Never asked.")]) as place:
        place.run("web", "password", stdin=PASSWORD.encode() + b"\n")
        with web(place, origin, pair):
            page = visit(chrome, origin, ignore_https_errors=True, reduced_motion="reduce")
            button = page.get_by_role("button", name="Log in", exact=True).first
            status = 401
            while status == 401:  # where each takes longer than its wait, the wait outgrows it soon
                expect(button).to_have_attribute("aria-disabled", "false")  # one at a time: it looks at none before
                page.locator("#password").fill("a wrong one")
                with page.expect_response("**/api/login/password") as came:
                    page.keyboard.press("Enter")
                status = came.value.status
                expect(page.get_by_role("alert").first).to_contain_text("password" if status == 401 else "try again in")
            assert status == 429
            expect(button).to_have_attribute("aria-disabled", "true")
            expect(button).to_have_attribute("aria-disabled", "false", timeout=60_000)
            page.locator("#password").fill(PASSWORD)
            page.keyboard.press("Enter")
            expect(page.get_by_role("navigation").first).to_be_visible()
            leave(page)
