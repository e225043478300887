"""Passkeys: what logs in is signed by a key that is kept, for this site, by its owner, once."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from angelia.core.ids import Clock
from angelia.faces.web.access.passkeys import CHALLENGE_MS, Challenges
from angelia.faces.web.access.throttle import ADDRESS
from tests.web.authenticator import OWNER, PRESENT, Authenticator
from tests.web.elsewhere import NAME, Afar, afar
from tests.web.test_from_elsewhere import failed_before
from tests.web.test_guards import Watch

pytestmark = pytest.mark.anyio

ORIGIN = f"https://{NAME}"


@pytest.fixture
async def somebody(tmp_path: Path) -> AsyncIterator[Afar]:
    async with afar(tmp_path, "proxy") as found:
        assert (await found.log_in()).status_code == 204
        yield found


async def kept(somebody: Afar, device: Authenticator, name: str = "My phone", flags: int = OWNER) -> httpx2.Response:
    options = (await somebody.ask("POST", "/api/passkeys/begin")).json()
    return await somebody.ask("POST", "/api/passkeys", {"name": name, "credential": device.made(options, flags)})


async def question(somebody: Afar) -> Any:
    """What is to be signed."""
    return (await somebody.ask("POST", "/api/login/begin")).json()["passkey"]


async def answers(somebody: Afar, credential: dict[str, Any]) -> httpx2.Response:
    """What somebody is told who answers it without a cookie."""
    return await somebody.ask("POST", "/api/login/passkey", {"credential": credential}, cookie=None)


async def test_who_has_the_device_gets_in_and_is_known_by_it(somebody: Afar) -> None:
    assert await question(somebody) is None
    device = Authenticator(NAME, ORIGIN)
    assert (await kept(somebody, device)).status_code == 201
    asked = await question(somebody)
    assert (asked["rpId"], asked["userVerification"], asked["allowCredentials"]) == (NAME, "required", [])
    assert (await answers(somebody, device.signs(asked))).status_code == 204
    told = (await somebody.ask("GET", "/api/logins")).json()
    assert "passkey My phone" in {one["by"] for one in told["logins"]}
    (own,) = told["passkeys"]
    assert own["used"]
    assert "public_key" not in own


@pytest.mark.parametrize("counts", [0, 1])
async def test_what_is_signed_counts_once(somebody: Afar, counts: int) -> None:
    device = Authenticator(NAME, ORIGIN)
    device.counts = counts
    await kept(somebody, device)
    signed = device.signs(await question(somebody))
    assert (await answers(somebody, signed)).status_code == 204
    assert (await answers(somebody, signed)).status_code == 401


@pytest.mark.parametrize("wrong", ["site", "origin", "plain", "flags", "count", "key", "id", "signature", "challenge"])
async def test_nothing_else_gets_in(somebody: Afar, wrong: str) -> None:
    device = Authenticator(NAME, ORIGIN)
    await kept(somebody, device)
    assert (await answers(somebody, device.signs(await question(somebody)))).status_code == 204
    asked = await question(somebody)
    if wrong == "site":
        device.site = "evil.example"
    elif wrong == "origin":
        device.origin = "https://evil.example"
    elif wrong == "plain":
        device.origin = f"http://{NAME}"
    elif wrong == "count":
        device.signed = 0  # a copy of the key, which knows of one signature less
    elif wrong == "key":
        device.key = Authenticator(NAME, ORIGIN).key
    elif wrong == "id":
        device.id = b"another"
    elif wrong == "challenge":
        asked = (await somebody.ask("POST", "/api/passkeys/begin")).json()
    signed = device.signs(asked, PRESENT) if wrong == "flags" else device.signs(asked)
    if wrong == "signature":
        signed["response"]["signature"] = signed["response"]["signature"][:-8] + "AAAAAAAA"
    came = await answers(somebody, signed)
    assert came.status_code == 401, came.text
    failed = (await somebody.ask("GET", "/api/logins")).json()["attempts"][0]
    assert (failed["by"], bool(failed["failed"])) == ("passkey", True)


def said(client: str) -> dict[str, Any]:
    return {"response": {"clientDataJSON": client}}


@pytest.mark.parametrize(
    "credential", [{}, {"id": 3}, {"response": 3}, said("%%%"), said("W10"), said("é"), said("e30")]
)
async def test_what_no_browser_says_is_refused(somebody: Afar, credential: dict[str, Any]) -> None:
    assert (await answers(somebody, credential)).status_code == 401
    made = await somebody.ask("POST", "/api/passkeys", {"name": "x", "credential": credential})
    assert made.status_code == 400


async def test_a_removed_passkey_does_not_log_in(somebody: Afar) -> None:
    device = Authenticator(NAME, ORIGIN)
    own = (await kept(somebody, device)).json()["id"]
    await kept(somebody, Authenticator(NAME, ORIGIN), "Another")
    assert (await somebody.ask("POST", f"/api/passkeys/{own}/remove")).status_code == 204
    assert (await somebody.ask("POST", f"/api/passkeys/{own}/remove")).status_code == 404
    assert (await answers(somebody, device.signs(await question(somebody)))).status_code == 401


async def test_what_is_kept_was_asked_for_here_of_its_owner_and_has_a_name(somebody: Afar) -> None:
    for device, flags in (
        (Authenticator("evil.example", ORIGIN), OWNER),
        (Authenticator(NAME, "https://evil.example"), OWNER),
        (Authenticator(NAME, ORIGIN), PRESENT),
    ):
        assert (await kept(somebody, device, flags=flags)).status_code == 400
    device = Authenticator(NAME, ORIGIN)
    assert (await kept(somebody, device, " \n")).status_code == 400
    assert (await kept(somebody, device, "My\x00 phone " + "x" * 100)).status_code == 201
    assert (await kept(somebody, device)).status_code == 400  # there is it already
    credential = device.made({"challenge": (await question(somebody))["challenge"]})
    assert (await somebody.ask("POST", "/api/passkeys", {"name": "x", "credential": credential})).status_code == 400


async def test_the_last_passkey_stays_while_there_is_no_password(somebody: Afar) -> None:
    own = (await kept(somebody, Authenticator(NAME, ORIGIN))).json()["id"]
    await somebody.door.ways.password.remove()
    came = await somebody.ask("POST", f"/api/passkeys/{own}/remove")
    assert came.status_code == 403
    assert "last passkey" in came.json()["error"]["what"]
    await kept(somebody, Authenticator(NAME, ORIGIN), "Another")
    assert (await somebody.ask("POST", f"/api/passkeys/{own}/remove")).status_code == 204


async def test_who_guesses_passwords_holds_up_no_passkey(somebody: Afar) -> None:
    device = Authenticator(NAME, ORIGIN)
    await kept(somebody, device)
    failed_before(somebody, ADDRESS.free + 8)
    assert (await somebody.log_in(cookie=None)).status_code == 429
    assert (await answers(somebody, device.signs(await question(somebody)))).status_code == 204


def test_a_challenge_ends_and_is_good_for_one_purpose() -> None:
    clock = Watch()
    ticking: Clock = clock
    challenges = Challenges(ticking)
    one, late = challenges.new("log in"), challenges.new("log in")
    for wrong in (b"", one[:-1], one + b"x", bytes(56), one[:16] + bytes([255]) * 8 + one[24:]):
        with pytest.raises(ValueError, match="another question"):
            challenges.spend(wrong, "log in")
    with pytest.raises(ValueError, match="another question"):
        challenges.spend(one, "register")
    challenges.spend(one, "log in")
    with pytest.raises(ValueError, match="before"):
        challenges.spend(one, "log in")
    clock.now += CHALLENGE_MS + 1
    with pytest.raises(ValueError, match="too long ago"):
        challenges.spend(late, "log in")
