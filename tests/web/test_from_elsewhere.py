"""The page where others reach it: what has to stand before it, who gets in, and how often somebody may try."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from angelia.core.errors import BadInput, ConfigError
from angelia.core.ids import Clock
from angelia.faces.cli.checkup.check_result import CheckResult, CheckState
from angelia.faces.cli.checkup.page import look_at_page
from angelia.faces.web.access.exposure import exposure
from angelia.faces.web.access.logins import FROM_ELSEWHERE, Logins, terms_at
from angelia.faces.web.access.password import LEAST, PagePassword
from angelia.faces.web.access.throttle import ADDRESS, EVERYBODY, LoginThrottle, _Failures
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import TooManyAttempts
from angelia.faces.web.door import WebDoor, demand_login
from angelia.service.app import App
from angelia.service.settings.config import WebSettings
from angelia.store.sql.database import Database
from angelia.store.tables.key_value import KeyValue
from tests.web.elsewhere import NAME, NOWHERE, PASSWORD, Afar, afar, write_certificate
from tests.web.test_guards import Watch, somewhere
from tests.web.visitor import opened, visiting

pytestmark = pytest.mark.anyio

OPEN = "0.0.0.0:8780"
ORIGIN = f"https://{NAME}"


@pytest.fixture(params=["tls", "proxy"])
async def somebody(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Afar]:
    async with afar(tmp_path, request.param) as found:
        yield found


# -- what has to stand before it --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "listen", "said"),
    [
        ({}, OPEN, "nothing encrypts"),
        ({"origin": ORIGIN}, OPEN, "nothing encrypts"),
        ({"origin": ORIGIN}, "127.0.0.1:8780", "nothing encrypts"),
        ({"proxies": ("192.0.2.1",)}, OPEN, "web.origin is not set"),
        ({"proxies": ("127.0.0.1",)}, "127.0.0.1:8780", "web.origin is not set"),
        ({"certificate": "a", "certificate_key": "b"}, OPEN, "web.origin is not set"),
        ({"certificate": "a", "origin": ORIGIN}, OPEN, "one is set"),
        ({"certificate_key": "a", "origin": ORIGIN}, OPEN, "one is set"),
        ({"proxies": ("0.0.0.0/0",), "origin": ORIGIN}, OPEN, "everybody"),
        ({"proxies": ("::/0",), "origin": ORIGIN}, OPEN, "everybody"),
        ({"proxies": ("*",), "origin": ORIGIN}, OPEN, "no IP address"),
        ({"proxies": ("nginx",), "origin": ORIGIN}, OPEN, "no IP address"),
        ({"proxies": ("192.0.2.1",), "origin": f"http://{NAME}"}, OPEN, "web.origin is"),
        ({"proxies": ("192.0.2.1",), "origin": NAME}, OPEN, "web.origin is"),
        ({"proxies": ("192.0.2.1",), "origin": f"{ORIGIN}/angelia"}, OPEN, "web.origin is"),
        ({"proxies": ("192.0.2.1",), "origin": f"{ORIGIN}:http"}, OPEN, "web.origin is"),
        ({"proxies": ("192.0.2.1",), "origin": "https://me@x"}, OPEN, "web.origin is"),
    ],
)
def test_others_do_not_reach_the_page_while_something_is_missing(
    settings: dict[str, Any], listen: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said) as refused:
        exposure(WebSettings(**settings), listen)
    assert refused.value.why or refused.value.then


@pytest.mark.parametrize(
    ("given", "origin"),
    [(f"{ORIGIN}/", ORIGIN), (f"https://{NAME.upper()}:443", ORIGIN), (f"{ORIGIN}:8443", f"{ORIGIN}:8443")],
)
def test_an_origin_is_what_browsers_send(given: str, origin: str) -> None:
    found = exposure(WebSettings(origin=given, proxies=("192.0.2.1",)), OPEN)
    assert found.origins(8780) == {origin}
    assert found.address(8780) == origin


async def test_without_a_password_or_a_passkey_others_do_not_reach_it(tmp_path: Path) -> None:
    async with opened(tmp_path, NOWHERE, web={"origin": ORIGIN, "proxies": ["127.0.0.1"]}) as app:
        door = WebDoor(app)
        with pytest.raises(ConfigError, match="neither a password nor a passkey"):
            await door.run("127.0.0.1:0")
        await door.ways.password.set(PASSWORD)
        await demand_login(exposure(app.loaded.config.web, "127.0.0.1:0"), door.ways)


async def test_files_that_are_no_certificate_are_refused(tmp_path: Path) -> None:
    certificate, key = write_certificate(tmp_path / "one", "localhost")
    _, other = write_certificate(tmp_path / "two", "localhost")
    for first, second in ((certificate, tmp_path / "gone"), (certificate, other), (key, certificate)):
        settings = {"origin": ORIGIN, "certificate": str(first), "certificate_key": str(second)}
        async with opened(tmp_path, NOWHERE, web=settings) as app:
            door = WebDoor(app)
            await door.ways.password.set(PASSWORD)
            with pytest.raises(ConfigError, match=r"cannot be read|no certificate with its key"):
                await door.run("127.0.0.1:0")


# -- every route ------------------------------------------------------------------------------------------------------


@pytest.mark.soak(every=2)
async def test_every_route_is_as_guarded_from_elsewhere(somebody: Afar) -> None:
    for route in somebody.door.server.routes.all:
        if route.guard is RouteGuard.NONE:
            continue
        method, path = route.method, somewhere(route)
        key = route.guard in (RouteGuard.READ_KEY, RouteGuard.CHAT_KEY)
        for cookie in (None, "__Host-angelia-login=guessed", "angelia-login=guessed"):
            if route.guard is not RouteGuard.LOGGING_IN:
                assert (await somebody.ask(method, path, cookie=cookie)).status_code == 401, path
        assert (await somebody.ask(method, path, host="evil.example")).status_code == 421, path
        if not key and method != "GET":
            for origin in ("https://evil.example", "null", somebody.origin.replace("https", "http")):
                assert (await somebody.ask(method, path, origin=origin)).status_code == 403, path
            assert (await somebody.ask(method, path, content_type="text/plain")).status_code == 415, path


async def test_what_strangers_bring_to_log_in_is_small(somebody: Afar) -> None:
    for route in somebody.door.server.routes.all:
        if route.guard is RouteGuard.LOGGING_IN:
            assert (await somebody.ask("POST", route.path, b"[" * 20_000)).status_code == 413, route.path
            for body in (
                b"[",
                b"\xff",
                b"[]",
                b'{"password": 3, "code": 3, "credential": 3}',
                b'{"password": "\\ud800"}',
            ):
                assert (await somebody.ask("POST", route.path, body)).status_code in (200, 400, 401), (route.path, body)


async def test_the_cookie_is_the_hosts_own_and_goes_over_tls_alone(somebody: Afar) -> None:
    came = await somebody.log_in()
    assert came.status_code == 204
    name, *attributes = came.headers["set-cookie"].split("; ")
    assert name.startswith("__Host-angelia-login=")
    assert set(attributes) >= {"Path=/", "Secure", "HttpOnly", "SameSite=Strict"}
    assert not any(one.startswith("Domain") for one in attributes)
    assert (await somebody.ask("GET", "/api/home")).status_code == 200
    plain = somebody.cookie.removeprefix("__Host-")
    assert (await somebody.ask("GET", "/api/home", cookie=plain)).status_code == 401


async def test_a_link_of_the_terminal_logs_in_from_elsewhere_too(somebody: Afar) -> None:
    link = await somebody.door.link()
    assert link.startswith(f"{somebody.origin}/#code=")
    assert (await somebody.ask("POST", "/api/login", {"code": link.partition("=")[2]})).status_code == 204
    assert (await somebody.ask("GET", "/api/home")).status_code == 200


async def test_only_a_declared_proxy_is_believed(tmp_path: Path) -> None:
    async with afar(tmp_path, "proxy", proxies=["192.0.2.1"]) as somebody:
        came = await somebody.ask("POST", "/api/login/begin")
        assert came.status_code == 421
        assert "web.proxies" in came.json()["error"]["why"]


async def test_a_proxy_has_to_say_that_it_was_asked_by_tls(tmp_path: Path) -> None:
    async with afar(tmp_path, "proxy") as somebody:
        port = somebody.url.rpartition(":")[2]
        for proto, host in (
            ("http", NAME),
            (None, NAME),
            ("https", f"localhost:{port}"),
            ("http", f"localhost:{port}"),
        ):
            came = await somebody.ask("POST", "/api/login/begin", x_forwarded_proto=proto, host=host)
            assert came.status_code == 421, (proto, host)


async def test_behind_a_proxy_this_machine_goes_on_directly(tmp_path: Path) -> None:
    async with afar(tmp_path, "proxy") as somebody:
        port = somebody.url.rpartition(":")[2]
        here = f"http://localhost:{port}"
        gone: dict[str, str | None] = {"x_forwarded_proto": None, "x_forwarded_for": None, "host": f"localhost:{port}"}
        came = await somebody.ask(
            "POST", "/api/login", {"code": await somebody.door.logins.new_code()}, origin=here, **gone
        )
        assert came.status_code == 204
        assert came.headers["set-cookie"].startswith("angelia-login=")
        assert (await somebody.ask("POST", "/api/login/begin", **gone)).status_code == 403  # another page's origin


def failed_before(somebody: Afar, count: int, *, wait_is_over: bool = False) -> None:
    """So many attempts from their address failed, the last just now or long enough ago for another one."""
    throttle = somebody.door._login._throttle
    last = throttle._clock() - (ADDRESS.wait(count) if wait_is_over else 0)
    throttle._addresses["203.0.113.9"] = _Failures(count, last)


# -- the password -----------------------------------------------------------------------------------------------------


async def test_a_wrong_password_is_refused_noted_and_told_to_the_owner(somebody: Afar, tmp_path: Path) -> None:
    for wrong in (PASSWORD + "s", PASSWORD.upper(), "", PASSWORD[:-1]):
        assert (await somebody.log_in(wrong, user_agent="Curl\x1b[2J")).status_code == 401
    assert not somebody.cookie
    assert (await somebody.log_in()).status_code == 204
    told = (await somebody.ask("GET", "/api/logins")).json()
    assert [(one["by"], one["times"], bool(one["failed"])) for one in told["attempts"]] == [
        ("password", 1, False),
        ("password", 4, True),
    ]
    assert [one["id"] for one in told["logins"]] == [told["here"]]
    warned = (tmp_path / "home/angelia.log").read_text()
    assert warned.count("WARNING angelia.web: a login by password from") == 4
    assert "\x1b" not in warned
    assert PASSWORD not in warned


async def test_it_has_to_be_waited_longer_after_each_failure_and_the_wait_is_told(tmp_path: Path) -> None:
    async with afar(tmp_path, "proxy") as somebody:
        assert (await somebody.log_in("wrong")).status_code == 401
        failed_before(somebody, ADDRESS.free + 8, wait_is_over=True)
        assert (await somebody.log_in("wrong")).status_code == 401
        for password in ("wrong", PASSWORD):  # not even the right one is looked at
            came = await somebody.log_in(password)
            assert came.status_code == 429
            assert 256 < int(came.headers["retry-after"]) <= 512
            assert f"{came.headers['retry-after']} s" in came.json()["error"]["what"]
        other = await somebody.log_in(x_forwarded_for="198.51.100.7")
        assert other.status_code == 204  # from where nobody failed
        forged = await somebody.log_in(x_forwarded_for="198.51.100.8, 203.0.113.9")  # what the client wrote itself
        assert forged.status_code == 429
        code = await somebody.door.logins.new_code()
        assert (await somebody.ask("POST", "/api/login", {"code": code})).status_code == 204  # nobody guesses that


async def test_forty_at_once_are_forty(tmp_path: Path) -> None:
    """One may be tried; while it is looked at it counts already."""
    async with afar(tmp_path, "proxy") as somebody:
        failed_before(somebody, ADDRESS.free + 8, wait_is_over=True)
        came = await asyncio.gather(*(somebody.log_in("wrong") for _ in range(40)))
        assert sorted(one.status_code for one in came) == [401] + [429] * 39


def test_waits_grow_are_bounded_and_are_forgotten() -> None:
    clock = Watch()
    ticking: Clock = clock
    throttle = LoginThrottle(ticking)
    waits = []
    for _ in range(ADDRESS.free + 14):
        while True:
            try:
                throttle.begin("203.0.113.9")
                break
            except TooManyAttempts as error:
                waits.append(error.wait_s)
                clock.now += error.wait_s * 1000
    assert waits == [*(2**n for n in range(10)), *[ADDRESS.most_ms // 1000] * 4]
    clock.now -= 3 * ADDRESS.most_ms  # the clock is set back
    with pytest.raises(TooManyAttempts) as refused:
        throttle.begin("203.0.113.9")
    assert refused.value.wait_s <= ADDRESS.most_ms // 1000
    clock.now += 4 * ADDRESS.quiet_ms
    for _ in range(ADDRESS.free):
        throttle.begin("203.0.113.9")


def test_from_many_addresses_it_is_slower_and_nobody_is_kept_out_for_long() -> None:
    throttle = LoginThrottle(Watch())
    for number in range(EVERYBODY.free):
        throttle.begin(f"203.0.113.{number}")
    with pytest.raises(TooManyAttempts) as refused:
        throttle.begin("198.51.100.1")
    assert refused.value.wait_s <= EVERYBODY.most_ms // 1000 <= 30


async def test_of_a_password_only_its_hash_is_stored(tmp_path: Path) -> None:
    async with opened(tmp_path, NOWHERE) as app:
        password = PagePassword(app.key_value, app.clock)
        await password.set(PASSWORD)
        kept = await app.key_value.get("web-password")
        assert "$argon2id$v=19$m=65536,t=3,p=4$" in kept
        assert PASSWORD not in kept
        assert await password.fits(PASSWORD)
        for wrong in ("", PASSWORD + " ", PASSWORD[:-1], "x" * 100_000):
            assert not await password.fits(wrong)
        await password.set("Zu\u0308rich am See im Regen")
        assert await password.fits("Z\u00fcrich am See im Regen")  # as another keyboard spells it
        await password.remove()
        assert not await password.fits(PASSWORD)


async def test_a_weaker_hash_is_made_anew_when_it_is_used(tmp_path: Path) -> None:
    from argon2 import PasswordHasher

    async with opened(tmp_path, NOWHERE) as app:
        old = {"hash": PasswordHasher(time_cost=1, memory_cost=8_192).hash(PASSWORD), "since": 5}
        await app.key_value.put("web-password", json.dumps(old))
        password = PagePassword(app.key_value, app.clock)
        assert await password.fits(PASSWORD)
        assert "m=65536,t=3,p=4" in await app.key_value.get("web-password")
        assert await password.since() == 5
        assert await password.fits(PASSWORD)


@pytest.mark.parametrize("weak", ["", "x" * (LEAST - 1), "ab" * 20, "x" * 1_001])
async def test_a_password_that_is_easily_guessed_is_not_taken(tmp_path: Path, weak: str) -> None:
    async with opened(tmp_path, NOWHERE) as app:
        password = PagePassword(app.key_value, app.clock)
        with pytest.raises(BadInput, match="characters"):
            await password.set(weak)
        assert not await password.since()


# -- logins -----------------------------------------------------------------------------------------------------------


async def test_logins_are_listed_and_ended_one_by_one_or_all(tmp_path: Path) -> None:
    async with afar(tmp_path, "proxy") as somebody:
        cookies = []
        for address in ("203.0.113.9", "2001:db8:1:2:3::4"):
            assert (await somebody.log_in(x_forwarded_for=address, user_agent=f"Fox {address}")).status_code == 204
            cookies.append(somebody.cookie)
        told = (await somebody.ask("GET", "/api/logins")).json()
        assert {(one["address"], one["browser"], one["by"]) for one in told["logins"]} == {
            ("203.0.113.9", "Fox 203.0.113.9", "password"),
            ("2001:db8:1:2::/64", "Fox 2001:db8:1:2:3::4", "password"),
        }
        assert not any(cookie.partition("=")[2] in json.dumps(told) for cookie in cookies)
        other = next(one["id"] for one in told["logins"] if one["id"] != told["here"])
        assert (await somebody.ask("POST", f"/api/logins/{other}/end")).status_code == 204
        assert (await somebody.ask("POST", f"/api/logins/{other}/end")).status_code == 404
        assert (await somebody.ask("POST", "/api/logins/x/end")).status_code == 404
        assert (await somebody.ask("GET", "/api/home", cookie=cookies[0])).status_code == 401
        assert (await somebody.ask("GET", "/api/home")).status_code == 200
        assert (await somebody.ask("POST", "/api/logins/end")).status_code == 204
        for cookie in cookies:
            assert (await somebody.ask("GET", "/api/home", cookie=cookie)).status_code == 401


async def to_the_end(lines: AsyncIterator[str]) -> None:
    async for _ in lines:
        pass


@pytest.mark.soak
async def test_a_stream_ends_with_its_login(tmp_path: Path) -> None:
    """Wherever it was ended; another login's goes on."""
    async with afar(tmp_path, "proxy") as somebody:
        await somebody.log_in()
        ended = somebody.cookie
        await somebody.log_in()
        headers = {**somebody.more, "sec-fetch-site": "same-origin"}
        url = f"{somebody.url}/api/events"
        async with (
            somebody.client.stream("GET", url, headers={**headers, "cookie": ended}) as first,
            somebody.client.stream("GET", url, headers={**headers, "cookie": somebody.cookie}) as second,
        ):
            assert (first.status_code, second.status_code) == (200, 200)
            lines, others = first.aiter_lines(), second.aiter_lines()
            assert await anext(lines)
            assert await anext(others)
            await somebody.door.ways.logins.log_out(ended.partition("=")[2])  # as another process does
            with pytest.raises(httpx2.RemoteProtocolError):
                await asyncio.wait_for(to_the_end(lines), 25)
            async with asyncio.timeout(25):
                while "beat" not in await anext(others):
                    pass


async def test_from_elsewhere_a_login_ends_sooner(tmp_path: Path) -> None:
    assert terms_at(ORIGIN) == FROM_ELSEWHERE
    clock = Watch()
    ticking: Clock = clock
    db = Database.open(tmp_path / "home", clock=ticking)
    try:
        logins = Logins(KeyValue(db), ticking)
        token = await logins.begin("password", terms=FROM_ELSEWHERE)
        began = clock.now
        while clock.now + FROM_ELSEWHERE.idle_ms - 1 <= began + FROM_ELSEWHERE.most_ms:
            clock.now += FROM_ELSEWHERE.idle_ms - 1
            assert await logins.known(token)
        clock.now = began + FROM_ELSEWHERE.most_ms + 1
        assert not await logins.known(token)
        idle = await logins.begin("password", terms=FROM_ELSEWHERE)
        clock.now += FROM_ELSEWHERE.idle_ms + 1
        assert not await logins.known(idle)
        assert await logins.all() == []
    finally:
        db.close()


async def test_a_login_of_an_earlier_version_holds(tmp_path: Path) -> None:
    async with opened(tmp_path, NOWHERE) as app, visiting(app) as page:
        ((name, kept),) = await app.key_value.all("web-login:")
        old = {key: value for key, value in json.loads(kept).items() if key in ("since", "seen")}
        await app.key_value.put(name, json.dumps(old))
        assert (await page.get("/api/home")).status_code == 200


# -- the certificate --------------------------------------------------------------------------------------------------


async def served_serial(port: int) -> str:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return ssl.DER_cert_to_PEM_cert(der)


async def test_a_renewed_certificate_is_taken_and_half_of_one_is_not(tmp_path: Path) -> None:
    async with afar(tmp_path, "tls") as somebody:
        port = int(somebody.url.rpartition(":")[2])
        before = await served_serial(port)
        certificate, key = write_certificate(tmp_path / "new", "localhost")
        (tmp_path / "tls/page.pem").write_bytes(certificate.read_bytes())
        assert await served_serial(port) == before
        assert "the one before goes on" in (tmp_path / "home/angelia.log").read_text()
        (tmp_path / "tls/page.key").write_bytes(key.read_bytes())
        assert await served_serial(port) == certificate.read_text()


async def test_old_versions_of_tls_are_not_spoken(tmp_path: Path) -> None:
    async with afar(tmp_path, "tls") as somebody:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.set_alpn_protocols(["http/1.1"])
        with pytest.warns(DeprecationWarning, match="TLSv1_1 is deprecated"):
            context.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.open_connection("127.0.0.1", int(somebody.url.rpartition(":")[2]), ssl=context)


# -- doctor -----------------------------------------------------------------------------------------------------------


async def looked(app: App) -> list[CheckResult]:
    return [one async for one in look_at_page(app)]


async def test_doctor_says_nothing_of_a_page_that_this_machine_alone_reaches(tmp_path: Path) -> None:
    async with opened(tmp_path, NOWHERE) as app:
        assert await looked(app) == []


async def test_doctor_says_what_is_missing_and_who_tried(tmp_path: Path) -> None:
    async with opened(tmp_path, NOWHERE, web={"listen": OPEN}) as app:
        (found,) = await looked(app)
        assert (found.state, "nothing encrypts" in found.seen) == (CheckState.BROKEN, True)
    async with opened(tmp_path, NOWHERE, web={"listen": OPEN, "origin": ORIGIN, "proxies": ["192.0.2.1"]}) as app:
        (found,) = await looked(app)
        assert (found.state, "angelia web password" in found.mend) == (CheckState.BROKEN, True)
        ways = WebDoor(app).ways
        await ways.password.set(PASSWORD)
        (found,) = await looked(app)
        assert (found.state, "a password" in found.seen) == (CheckState.WELL, True)
        from angelia.faces.web.access.logins import Visitor

        for _ in range(3):
            await ways.attempts.add("password", Visitor("203.0.113.9"), "It is another one.")
        assert "3 failed since yesterday, the last from 203.0.113.9" in (await looked(app))[-1].seen


@pytest.mark.parametrize(
    ("days", "state", "said"),
    [
        (60, CheckState.WELL, "is good until"),
        (9, CheckState.BROKEN, "8 more days"),
        (-1, CheckState.BROKEN, "was good"),
    ],
)
async def test_doctor_says_when_the_certificate_ends(tmp_path: Path, days: int, state: CheckState, said: str) -> None:
    certificate, key = write_certificate(tmp_path / "tls", NAME, days=days)
    settings = {"listen": OPEN, "origin": ORIGIN, "certificate": str(certificate), "certificate_key": str(key)}
    async with opened(tmp_path, NOWHERE, web=settings) as app:
        await WebDoor(app).ways.password.set(PASSWORD)
        found = (await looked(app))[-1]
        assert (found.state, said in found.seen) == (state, True), found
