"""Webhooks: what Slack has not signed just now is nothing, and what is not stored is not acknowledged."""

import json
import time
from collections.abc import Mapping
from urllib.parse import urlencode

import pytest

from angelia.channels.webhooks import WebRequest, WebResponse
from angelia.testing.channels.stage import Stage, staged
from tests.channels.slack import world as w
from tests.channels.slack.bringing import request_of, signed
from tests.channels.slack.network import slack_by_http
from tests.channels.slack.stages import channel, network, said, texts

pytestmark = pytest.mark.anyio

JSON = {"content-type": "application/json"}


async def brought(stage: Stage, body: bytes, headers: Mapping[str, str], method: str = "POST") -> WebResponse:
    """What a request to the webhook is answered."""
    return await channel(stage).web(WebRequest(method, "/hooks/door", {}, headers, body))


def event(text: str) -> bytes:
    """Something said, as Slack brings it."""
    told = {"type": "message", "user": w.FRIEND, "text": text, "ts": "1.000001", "channel": w.DIRECT}
    return json.dumps({"type": "event_callback", "event_id": "Ev1", "event": told}).encode()


def forged(body: bytes) -> list[dict[str, str]]:
    """Headers under which nobody is Slack."""
    now = int(time.time())
    return [
        {},
        signed(body, "another secret"),
        signed(body + b" "),
        signed(body, "another secret", stamp=now - 301),
        signed(body) | {"x-slack-request-timestamp": str(now - 5)},
        signed(body) | {"x-slack-request-timestamp": "now"},
        {"x-slack-request-timestamp": str(now), "x-slack-signature": "v0="},
    ]


async def test_what_slack_has_not_signed_lately_is_nothing() -> None:
    async with staged(slack_by_http) as stage:
        asked = list(network(stage).web.asked)
        for headers in forged(event("open the door")):
            assert (await brought(stage, event("open the door"), JSON | headers)).status == 403
        await network(stage).bring(said("end"))
        await stage.until(lambda: bool(stage.tries))
        assert texts(stage.heard) == ["end"]
        assert set(network(stage).web.asked) - set(asked) <= {"users.info"}, "it was asked who the friend is"


@pytest.mark.parametrize("off", [-400, 400, 400 * 86_400])
async def test_what_slack_brings_while_our_clock_is_wrong_is_told_and_read_from_the_chats(off: int) -> None:
    async with staged(slack_by_http) as stage:
        fake = network(stage)
        await fake.bring(said("before"))
        await stage.until(lambda: texts(stage.heard) == ["before"])
        fake.courier.off = off
        await fake.bring(said("meanwhile"))
        await stage.until(lambda: "meanwhile" in texts(stage.heard))
        assert 200 not in fake.courier.statuses[1:]
        assert any("This machine's clock may be wrong" in one.why for one in stage.health)
        fake.courier.off = 0
        await fake.bring(said("after"))
        await stage.until(lambda: "after" in texts(stage.heard))
        assert texts(stage.heard) == ["before", "meanwhile", "after"]


async def test_without_a_secret_nothing_is_signed() -> None:
    async with staged(slack_by_http) as stage:
        network(stage).secrets = {**network(stage).secrets, "SLACK_SIGNING_SECRET": " \t \t "}
        body = event("open the door")
        assert (await brought(stage, body, JSON | signed(body, ""))).status == 403
        assert not stage.tries


async def test_what_is_played_again_changes_nothing() -> None:
    async with staged(slack_by_http) as stage:
        body = event("once")
        headers = JSON | signed(body)
        assert [(await brought(stage, body, headers)).status for _ in range(3)] == [200, 200, 200]
        assert texts(stage.heard) == ["once"]


async def test_what_is_not_stored_is_not_acknowledged() -> None:
    async with staged(slack_by_http) as stage:
        body, tried = event("not yet"), 0
        stage.refuse = lambda envelope: True
        while tried < 3:
            assert (await brought(stage, body, JSON | signed(body))).status == 503
            tried += 1
        stage.refuse = lambda envelope: False
        await stage.until(lambda: bool(stage.heard))
        assert (await brought(stage, body, JSON | signed(body))).status == 200
        assert texts(stage.heard) == ["not yet"]


async def test_slacks_first_look_is_answered() -> None:
    async with staged(slack_by_http) as stage:
        body = json.dumps({"type": "url_verification", "challenge": "3eZbrw1aB", "token": "x"}).encode()
        answer = await brought(stage, body, JSON | signed(body))
        assert (answer.status, answer.body) == (200, b"3eZbrw1aB")


async def test_what_cannot_be_read_or_is_nothing_to_us_is_told_so() -> None:
    async with staged(slack_by_http) as stage:
        unread, form = b"{", {"content-type": "application/x-www-form-urlencoded"}
        nothing = json.dumps({"type": "event_callback", "event": {"type": "team_join"}}).encode()
        other = urlencode({"payload": json.dumps({"type": "block_actions"})}).encode()
        assert (await brought(stage, unread, JSON | signed(unread))).status == 400
        assert (await brought(stage, b"\xff", form | signed(b"\xff"))).status == 400
        assert (await brought(stage, other, form | signed(other))).status == 400
        assert (await brought(stage, nothing, JSON | signed(nothing))).status == 200
        assert (await brought(stage, b"", {}, "GET")).status == 405
        assert not stage.tries


async def test_before_the_start_and_after_the_end_it_is_to_come_again() -> None:
    async with staged(slack_by_http) as stage:
        await stage.stop()
        body = event("too late")
        assert (await brought(stage, body, JSON | signed(body))).status == 503
        await stage.start()
        await stage.connected()
        assert (await brought(stage, body, JSON | signed(body))).status == 200
        assert texts(stage.heard) == ["too late"]


async def test_a_command_comes_as_a_form() -> None:
    async with staged(slack_by_http) as stage:
        await network(stage).bring(said("hello"))
        await stage.until(lambda: bool(stage.heard))
        body, headers = request_of(network(stage).brought[0])
        assert headers["content-type"] == "application/json"
        told = {"command": "/stop", "channel_id": w.DIRECT, "user_id": w.FRIEND, "trigger_id": "1.1", "text": ""}
        body = urlencode(told).encode()
        form = {"content-type": "application/x-www-form-urlencoded"}
        assert (await brought(stage, body, form | signed(body))).status == 200
        assert texts(stage.heard) == ["hello", "/stop"]
