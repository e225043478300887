"""Two peers ask each other: every request has one answer, and what is wrong is said in the protocol's words."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from msgspec import Struct

from angelia.acp.faults import Fault
from angelia.acp.lines import TooLong
from angelia.acp.rpc import Method, Notice, Peer, Then
from angelia.core.errors import BadInput, KeyMissing, NotFound, StoreFull

pytestmark = pytest.mark.anyio


class Name(Struct, frozen=True):
    """Parameters and results of these tests."""

    name: str


async def echo(given: Name) -> Name:
    """Says what it heard."""
    return given


class Wire:
    """A peer, and what it wrote."""

    def __init__(
        self, *, stop: Callable[[Any], Coroutine[Any, Any, None]] | None = None, **acts: Callable[[Any], Any]
    ) -> None:
        self.written: list[Any] = []
        methods = {name: Method(Name, act, stop) for name, act in {"echo": echo, **acts}.items()}
        self.peer = Peer(
            lambda line: self.written.append(json.loads(line)), methods, {"tell": Notice(Name, self._tell)}
        )
        self.told: list[str] = []

    async def _tell(self, given: Name) -> None:
        self.told.append(given.name)

    def hear(self, **message: Any) -> None:
        """Let the peer receive a message."""
        self.peer.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def settled(self) -> list[Any]:
        """What was written, once nothing is being answered."""
        while self.peer._tasks:
            await asyncio.wait(self.peer._tasks)
        return self.written

    async def code(self) -> int:
        """The code of the one error that was written."""
        [answer] = await self.settled()
        return int(answer["error"]["code"])


DEEP = b"[" * 50_000 + b"]" * 50_000
"""Deeper than any Python reads: 3.12 and later allow more than the 1,000 of before."""


def too_long(head: bytes, tail: bytes) -> TooLong:
    """What is left of a message of 60 MB."""
    return TooLong(head + b"aaaa", b"aaaa" + tail, 60_000_000)


@pytest.mark.parametrize("number", [1, "one", None])
async def test_a_request_is_answered_under_its_id(number: Any) -> None:
    wire = Wire()
    wire.hear(id=number, method="echo", params={"name": "x"})
    assert await wire.settled() == [{"jsonrpc": "2.0", "id": number, "result": {"name": "x"}}]


@pytest.mark.parametrize(
    ("line", "code", "number"),
    [
        (b"{", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"[]", -32600, None),
        (b'"word"', -32600, None),
        (b'{"id":3,"method":7}', -32600, 3),
        (b'{"jsonrpc":"2.0"}', -32600, None),
        (b'{"id":4,"method":"nothing/like/it"}', -32601, 4),
        (b'{"id":5,"method":"echo","params":{}}', -32602, 5),
        (b'{"id":6,"method":"echo","params":{"name":7}}', -32602, 6),
        (b'{"id":7,"method":"echo"}', -32602, 7),
        (b'{"id":"\\x","method":"echo"}', -32700, None),
        (b'{"id":01,"method":"echo"}', -32700, None),
        (b'{"id":"\x07","method":"echo"}', -32700, None),
        (b'{"id":"\xff","method":"echo"}', -32700, None),
        (b'{"id":1.5,"method":"echo"}', -32600, None),
        (b'{"id":8,"method":"\xff"}', -32700, 8),
        (b'{"id":9,"method":"echo","params":{"name":"\xff"}}', -32700, 9),
        (b'{"id":10,"method":"echo","params":' + DEEP + b"}", -32700, 10),
        (b'{"params":' + DEEP + b',"id":11,"method":"echo"}', -32700, 11),
    ],
)
async def test_what_is_wrong_is_said_to_who_asked(line: bytes, code: int, number: Any) -> None:
    wire = Wire()
    wire.peer.receive(line)
    assert await wire.code() == code
    assert wire.written[0]["id"] == number


async def test_who_sent_too_long_a_line_is_told_under_its_own_id() -> None:
    wire = Wire()
    wire.peer.receive(too_long(b'{"jsonrpc":"2.0","id":12,"method":"echo","params":{"id":9,"x":"', b'"}}'))
    assert (await wire.code(), wire.written[0]["id"]) == (-32600, 12)
    assert "60 MB" in wire.written[0]["error"]["message"]


@pytest.mark.parametrize(
    ("error", "code", "shown"),
    [
        (BadInput("That is no folder."), -32602, True),
        (NotFound("There is no such session."), -32002, True),
        (KeyMissing("There is no key."), -32000, True),
        (StoreFull("The disk is full."), -32603, True),
        (Fault(-32011, "Something else."), -32011, True),
        (ValueError("/home/me/.ssh/id_rsa has 42 lines"), -32603, False),
    ],
)
async def test_errors_for_people_are_told_and_texts_of_exceptions_are_not(
    error: Exception, code: int, shown: bool
) -> None:
    async def fail(_: Name) -> Name:
        raise error

    wire = Wire(fail=fail)
    wire.hear(id=1, method="fail", params={"name": ""})
    assert await wire.code() == code
    assert (str(error) in json.dumps(wire.written)) is shown


async def test_many_requests_are_open_at_once_and_answered_as_they_end() -> None:
    gates = {str(n): asyncio.Event() for n in range(50)}

    async def wait(given: Name) -> Name:
        await gates[given.name].wait()
        return given

    wire = Wire(wait=wait)
    for name in gates:
        wire.hear(id=int(name), method="wait", params={"name": name})
    await asyncio.sleep(0)
    for name in reversed(gates):
        gates[name].set()
        await asyncio.sleep(0)
    assert sorted(one["id"] for one in await wire.settled()) == list(range(50))


@pytest.mark.parametrize("begun", [False, True])
async def test_a_request_that_is_taken_back_is_answered_as_cancelled(*, begun: bool) -> None:
    began = asyncio.Event()

    async def wait(_: Name) -> Name:
        began.set()
        await asyncio.Event().wait()
        raise AssertionError

    wire = Wire(wait=wait)
    wire.hear(id=8, method="wait", params={"name": ""})
    await began.wait() if begun else None
    wire.hear(method="$/cancel_request", params={"requestId": 8})
    wire.hear(method="$/cancel_request", params={"requestId": "unknown"})
    wire.hear(method="$/cancel_request", params={})
    assert (await wire.code(), wire.written[0]["id"]) == (-32800, 8)
    wire.hear(method="$/cancel_request", params={"requestId": 8})
    assert (len(await wire.settled()), wire.peer._answering) == (1, {})


async def test_a_request_that_winds_down_answers_itself() -> None:
    stopped = asyncio.Event()

    async def wait(given: Name) -> Name:
        await stopped.wait()
        return given

    async def stop(_: Name) -> None:
        stopped.set()

    wire = Wire(wait=wait, stop=stop)
    wire.hear(id=8, method="wait", params={"name": "done"})
    wire.hear(method="$/cancel_request", params={"requestId": 8})
    assert await wire.settled() == [{"jsonrpc": "2.0", "id": 8, "result": {"name": "done"}}]


async def test_what_follows_a_result_comes_after_it() -> None:
    async def begin(given: Name) -> Then:
        return Then(given, lambda: wire.peer.notify("news", Name("later")))

    wire = Wire(begin=begin)
    wire.hear(id=1, method="begin", params={"name": "now"})
    assert [one.get("method", "result") for one in await wire.settled()] == ["result", "news"]


async def test_what_follows_a_result_and_fails_changes_nothing_about_it() -> None:
    def fail() -> None:
        raise ValueError("/home/me/.ssh/id_rsa has 42 lines")

    async def begin(given: Name) -> Then:
        return Then(given, fail)

    wire = Wire(begin=begin)
    wire.hear(id=1, method="begin", params={"name": "now"})
    assert await wire.settled() == [{"jsonrpc": "2.0", "id": 1, "result": {"name": "now"}}]


async def test_notifications_are_heard_and_never_answered() -> None:
    wire = Wire()
    wire.hear(method="tell", params={"name": "x"})
    wire.hear(method="tell", params={"nothing": 1})
    wire.hear(method="unknown", params={"name": "y"})
    assert (await wire.settled(), wire.told) == ([], ["x"])


async def test_our_own_requests_are_answered_refused_or_taken_back() -> None:
    wire = Wire()
    asked = [asyncio.create_task(wire.peer.ask("name", Name("?"), Name)) for _ in range(4)]
    await asyncio.sleep(0)
    assert [one["id"] for one in wire.written] == [1, 2, 3, 4]
    wire.hear(id=1, result={"name": "Ada"})
    wire.hear(id=2, error={"code": -32601, "message": "no such method"})
    wire.hear(id=3, result={"something": "else"})
    wire.hear(id=99, result={})
    asked[3].cancel()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert answers[0] == Name("Ada")
    assert [type(one) for one in answers[1:3]] == [Fault, Fault]
    assert wire.written[-1] == {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 4}}
    wire.hear(id=4, result={"name": "too late"})
    assert len(await wire.settled()) == 5


async def test_closing_ends_what_is_open() -> None:
    async def wait(_: Name) -> Name:
        await asyncio.Event().wait()
        raise AssertionError

    wire = Wire(wait=wait)
    wire.hear(id=1, method="wait", params={"name": ""})
    await asyncio.sleep(0)
    await wire.peer.close()
    assert not wire.peer._tasks


async def test_closing_ends_what_was_asked_and_what_is_asked_afterwards() -> None:
    async def ask_on_the_way_out(_: Name) -> Name:
        try:
            return await wire.peer.ask("name", Name("first"), Name)
        finally:
            await wire.peer.ask("name", Name("at the end"), Name)

    wire = Wire(ask=ask_on_the_way_out)
    wire.hear(id=1, method="ask", params={"name": ""})
    await asyncio.sleep(0)
    await asyncio.wait_for(wire.peer.close(), 60)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(wire.peer.ask("name", Name("too late"), Name), 60)
    assert [one["params"] for one in wire.written if one.get("method") == "name"] == [{"name": "first"}]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (too_long(b'{"jsonrpc":"2.0","id":1,"result":{"name":"', b'"}}'), "60 MB is too long"),
        (too_long(b'{"result":{"name":"', b'"},"id":1}'), "60 MB is too long"),
        (b'{"id":1,"result":{"name":}}', "not JSON"),
        (b'{"id":1,"error":"no"}', "no JSON-RPC message"),
        (b'{"id":1,"result":{"name":"\xff"}}', "not answered as the protocol says"),
        (b'{"id":1,"result":' + DEEP + b"}", "nested too deep"),
    ],
)
async def test_an_answer_that_cannot_be_read_ends_the_wait_for_it(line: bytes | TooLong, said: str) -> None:
    wire = Wire()
    asking = asyncio.create_task(wire.peer.ask("echo", Name("x"), Name))
    await asyncio.sleep(0)
    wire.peer.receive(line)
    with pytest.raises(Fault, match=said):
        await asyncio.wait_for(asking, 60)
    assert [one["method"] for one in wire.written] == ["echo"]


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"echo","params":{"name":"', b'"}}'),
        (b'{"params":{"name":"', b'"},"id":1,"jsonrpc":"2.0","method":"echo"}'),
    ],
)
async def test_a_request_that_is_too_long_is_refused_though_we_asked_under_its_number(head: bytes, tail: bytes) -> None:
    wire = Wire()
    asking = asyncio.create_task(wire.peer.ask("echo", Name("x"), Name))
    await asyncio.sleep(0)
    wire.peer.receive(too_long(head, tail))
    assert (wire.written[-1]["id"], wire.written[-1]["error"]["code"]) == (1, -32600)
    assert not asking.done()
    asking.cancel()
