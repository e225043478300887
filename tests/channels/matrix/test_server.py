"""The fake homeserver refuses what the published API refuses: a room that it lets through has kept the rules."""

from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.channels.matrix import world as w
from tests.channels.matrix.network import Matrix, matrix

pytestmark = pytest.mark.anyio

CHANNEL = f"/_matrix/client/v3/rooms/{quote(w.DIRECT)}"
WORDS = {"msgtype": "m.text", "body": "x"}
UNKNOWN = {"event_id": "$nowhere"}


def client(network: Matrix, token: str = w.TOKEN) -> httpx2.AsyncClient:
    """Somebody who asks for whatever they like."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx2.AsyncClient(base_url=network.web.base, headers=headers, trust_env=False, verify=False, timeout=60)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("/send/m.room.message/1", {"body": "no type"}, "M_BAD_JSON"),
    ("/send/m.room.message/1", WORDS | {"format": "org.matrix.custom.html"}, "M_BAD_JSON"),
    ("/send/m.room.message/1", WORDS | {"msgtype": "m.image"}, "M_BAD_JSON"),
    ("/send/m.room.message/1", WORDS | {"n": 1.5}, "M_BAD_JSON"),
    ("/send/m.room.message/1", WORDS | {"body": "x" * 65_000}, "M_TOO_LARGE"),
    ("/send/m.room.message/1", WORDS | {"m.relates_to": {"m.in_reply_to": UNKNOWN}}, "M_UNKNOWN"),
    ("/send/m.room.message/1", WORDS | {"m.relates_to": UNKNOWN | {"rel_type": "m.replace"}}, "M_UNKNOWN"),
    ("/send/m.reaction/1", {"m.relates_to": UNKNOWN | {"rel_type": "m.annotation", "key": "x"}}, "M_UNKNOWN"),
    ("/redact/$nowhere/1", {}, "M_NOT_FOUND"),
    (f"/typing/{w.FRIEND}", {"typing": True, "timeout": 1}, "M_FORBIDDEN"),
]


@pytest.mark.parametrize(("path", "body", "code"), REFUSED)
async def test_it_refuses(path: str, body: dict[str, Any], code: str) -> None:
    async with matrix() as network, client(network) as asking:
        refused = await asking.put(f"{CHANNEL}{path}", json=body)
        assert (refused.json()["errcode"], refused.is_error) == (code, True)
        assert network.arrived == []


@pytest.mark.parametrize(("token", "code"), [("", "M_MISSING_TOKEN"), ("another", "M_UNKNOWN_TOKEN")])
async def test_it_lets_in_who_has_the_token(token: str, code: str) -> None:
    async with matrix() as network, client(network, token) as asking:
        refused = await asking.get("/_matrix/client/v3/account/whoami")
        assert (refused.status_code, refused.json()["errcode"]) == (401, code)


@pytest.mark.parametrize("asked", [{"since": "x"}, {"filter": '{"rooms": {}}'}, {"filter": "{"}, {"sinse": "s1_x"}])
async def test_it_reads_every_parameter_of_a_sync(asked: dict[str, str]) -> None:
    async with matrix() as network, client(network) as asking:
        assert (await asking.get("/_matrix/client/v3/sync", params=asked)).status_code == 400


async def test_it_notices_what_servers_do_not() -> None:
    network = Matrix()
    await network.up()
    network.world.enter(w.SECRET, w.US, "join")
    async with client(network) as asking:
        sent = await asking.put(f"/_matrix/client/v3/rooms/{quote(w.SECRET)}/send/m.room.message/1", json=WORDS)
        await asking.get("/_matrix/client/v3/account/whoami?access_token=x")
    await network.web.listening.close()
    assert sent.status_code == 200
    assert [("encrypted" in fault, "token" in fault) for fault in network.world.faults] == [
        (True, False),
        (False, True),
    ]
