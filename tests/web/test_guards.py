"""Who is let in: every route has a guard, and each guard says no to whoever has no business behind it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from angelia.core.errors import ConfigError
from angelia.core.ids import Clock
from angelia.faces.web.access.exposure import exposure
from angelia.faces.web.access.logins import CODE_MS, COOKIE, LOGIN_MS, LONGEST_MS, Logins
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import MOST_JSON, RequestRefused
from angelia.faces.web.asgi.routes import Route
from angelia.faces.web.door import WebDoor, page_of
from angelia.service.app import App
from angelia.service.settings.config import WebSettings
from angelia.store.sql.database import Database
from angelia.store.tables.key_value import KeyValue
from tests.web.visitor import Visitor, opened, visiting

pytestmark = pytest.mark.anyio


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with opened(tmp_path, "http://127.0.0.1:9/v1") as found:
        yield found


@pytest.fixture
async def page(app: App) -> AsyncIterator[Visitor]:
    async with visiting(app) as visitor:
        yield visitor


def guarded(page: Visitor, *guards: RouteGuard) -> list[Route]:
    return [route for route in page.door.server.routes.all if route.guard in guards]


def somewhere(route: Route) -> str:
    return route.path.replace("{", "").replace("}", "")


async def asked(page: Visitor, route: Route, headers: dict[str, str]) -> httpx2.Response:
    return await page.client.request(route.method, page.address + somewhere(route), headers=headers, content="{}")


async def test_only_the_page_itself_and_the_agent_card_are_shown_to_strangers(page: Visitor) -> None:
    unguarded = {route.path for route in guarded(page, RouteGuard.NONE)}
    assert {path for path in unguarded if not path.startswith("/static/")} == {"/", "/.well-known/agent-card.json"}
    assert all(route.method == "GET" for route in guarded(page, RouteGuard.NONE, RouteGuard.LOGIN))
    logging_in = [route.path for route in guarded(page, RouteGuard.LOGGING_IN)]
    assert logging_in == ["/api/login", "/api/login/begin", "/api/login/password", "/api/login/passkey"]


async def test_nobody_reads_or_changes_anything_without_a_login(page: Visitor) -> None:
    page.client.cookies.clear()
    for cookie in ("", f"{COOKIE}=", f"{COOKIE}=guessed"):
        for route in guarded(page, RouteGuard.LOGIN, RouteGuard.WRITE):
            headers = {**page.head, **({"cookie": cookie} if cookie else {})}
            came = await page.client.request(
                route.method, page.address + somewhere(route), headers=headers, content="{}"
            )
            assert came.status_code == 401, route.path
            assert "angelia web" in came.json()["error"]["then"]


async def test_a_name_that_was_made_to_lead_here_is_not_answered(page: Visitor) -> None:
    port = page.address.rpartition(":")[2]
    for host in ("evil.example", f"evil.example:{port}", "localhost", f"127.0.0.1.nip.io:{port}", f"localhost:{port}."):
        for route in (page.door.server.routes.all[0], page.door.server.routes.all[-1]):
            headers = {**page.head, "host": host}
            came = await page.client.request(
                route.method, page.address + somewhere(route), headers=headers, content="{}"
            )
            assert came.status_code == 421, host


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:1"},
        {"origin": "http://localhost:{port}.evil.example"},
        {"origin": "https://localhost:{port}"},
        {"origin": "", "sec-fetch-site": "cross-site"},
        {"origin": "", "sec-fetch-site": "same-site"},
        {"origin": "", "sec-fetch-site": ""},
        {"sec-fetch-site": "cross-site"},
    ],
)
async def test_nothing_is_changed_from_another_page(page: Visitor, headers: dict[str, str]) -> None:
    port = page.address.rpartition(":")[2]
    sent = page.head | {name: value.replace("{port}", port) for name, value in headers.items()}
    for route in guarded(page, RouteGuard.WRITE, RouteGuard.LOGGING_IN):
        kept = {name: value for name, value in sent.items() if value}
        came = await page.client.post(page.address + somewhere(route), headers=kept, content="{}")
        assert came.status_code == 403, route.path


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
async def test_what_a_form_elsewhere_can_send_changes_nothing(page: Visitor, kind: str) -> None:
    for route in guarded(page, RouteGuard.WRITE, RouteGuard.LOGGING_IN):
        came = await page.post(somewhere(route), {}, **{"content-type": kind})
        assert came.status_code == 415, route.path


async def test_another_page_is_not_told_what_is_here(page: Visitor) -> None:
    for route in guarded(page, RouteGuard.LOGIN):
        came = await page.get(somewhere(route), **{"sec-fetch-site": "cross-site"})
        assert came.status_code == 403, route.path
    assert (await page.client.options(page.address + "/api/home")).status_code == 405


async def test_every_answer_says_what_a_browser_may_do_with_it(page: Visitor) -> None:
    for path in ("/", "/static/index.html", "/api/home", "/api/nothing", "/nothing"):
        came = await page.get(path)
        policy = came.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert came.headers["x-content-type-options"] == "nosniff"
        assert came.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path", ["/static/../door.py", "/static/%2e%2e/door.py", "/static//etc/passwd", "/static/", "/static", "//"]
)
async def test_no_file_but_the_pages_own_is_handed_out(page: Visitor, path: str) -> None:
    from urllib.parse import urlsplit

    host, port = urlsplit(page.address).hostname, urlsplit(page.address).port
    reader, writer = await asyncio.open_connection(host, port)  # a client would tidy the path up
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 404")


async def test_what_is_too_large_or_no_json_is_refused_and_the_page_goes_on(page: Visitor) -> None:
    came = await page.client.post(
        page.address + "/api/conversations", headers=page.head, content=b"[" * (MOST_JSON + 1)
    )
    assert came.status_code == 413
    for body in (b"[" * 100_000, b"\xff\xfe", b'{"folder": 3}', b'{"unknown": ""}', b"nonsense"):
        came = await page.client.post(page.address + "/api/conversations", headers=page.head, content=body)
        assert came.status_code == 400, body[:20]
        assert came.json()["error"]["what"]
    assert (await page.get("/api/home")).status_code == 200


# -- logging in -----------------------------------------------------------------------------------------------------


async def test_a_link_logs_in_once(page: Visitor) -> None:
    code = await page.door.logins.new_code()
    page.client.cookies.clear()
    first = await page.post("/api/login", {"code": code})
    assert first.status_code == 204
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Path=/" in cookie
    assert (await page.post("/api/login", {"code": code})).status_code == 401


async def test_two_who_open_one_link_at_once_are_one_login(page: Visitor) -> None:
    code = await page.door.logins.new_code()
    came = await asyncio.gather(*[page.post("/api/login", {"code": code}) for _ in range(8)])
    assert sorted(one.status_code for one in came) == [204] + [401] * 7


async def test_a_cookie_holds_after_a_restart_until_it_is_logged_out(app: App) -> None:
    async with visiting(app) as before:
        cookies = dict(before.client.cookies)
    async with visiting(app) as after:
        after.client.cookies.clear()
        after.client.cookies.update(cookies)
        assert (await after.get("/api/home")).status_code == 200
        assert (await after.post("/api/logout")).status_code == 204
        after.client.cookies.update(cookies)
        assert (await after.get("/api/home")).status_code == 401


class Watch:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now


async def test_links_and_logins_have_an_end(tmp_path: Path) -> None:
    clock = Watch()
    ticking: Clock = clock
    db = Database.open(tmp_path / "home", clock=ticking)
    try:
        logins = Logins(KeyValue(db), ticking)
        late, used = await logins.new_code(), await logins.new_code()
        await logins.spend(used)
        token = await logins.begin("link")
        clock.now += CODE_MS + 1
        with pytest.raises(RequestRefused, match="cannot be used any more"):
            await logins.spend(late)
        clock.now += LOGIN_MS - CODE_MS - 2
        assert await logins.known(token)
        clock.now += LOGIN_MS - 2  # they were there, so that it holds on
        assert await logins.known(token)
        clock.now += LOGIN_MS + 1
        assert not await logins.known(token)
        other, began = await logins.begin("link"), clock.now
        while clock.now + LOGIN_MS - 1 <= began + LONGEST_MS:
            clock.now += LOGIN_MS - 1
            assert await logins.known(other)
        clock.now = began + LONGEST_MS + 1  # they were there all the time, and it ends nevertheless
        assert not await logins.known(other)
        stored = "".join(f"{key}{value}" for key, value in await KeyValue(db).all())
        assert token not in stored
        assert used not in stored
    finally:
        db.close()


async def test_everybody_can_be_logged_out(page: Visitor) -> None:
    assert await page.door.logins.log_everybody_out() == 1
    assert (await page.get("/api/home")).status_code == 401


@pytest.mark.parametrize("listen", ["0.0.0.0:8780", "192.168.1.5:8780", "[::]:8780", "example.org:80", "nonsense"])
def test_the_page_is_served_to_this_machine_alone(listen: str) -> None:
    with pytest.raises(ConfigError, match=r"web\.listen"):
        exposure(WebSettings(), listen)


async def test_it_listens_at_an_address_of_ipv6_too(app: App) -> None:
    door, ready = WebDoor(app), asyncio.Event()
    serving = asyncio.create_task(door.run("[::1]:0", ready.set))
    await asyncio.wait([serving, asyncio.create_task(ready.wait())], return_when=asyncio.FIRST_COMPLETED)
    async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
        assert (await client.get(door.address.replace("localhost", "[::1]"))).status_code == 200
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


async def test_other_processes_of_the_home_know_where_the_page_is(app: App) -> None:
    home = app.loaded.home
    async with visiting(app) as page:
        state = page_of(home)
        assert state is not None
        assert state.address == page.address
    assert WebDoor(app).address == ""
