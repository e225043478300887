"""The fake Telegram is strict, so that what passes here passes there; and it can be run by itself."""

import asyncio
import sys

import httpx2
import msgspec
import pytest

from angelia.channels.capabilities import IncomingKind
from angelia.testing.channels.network import ArrivedMessage, Thing
from angelia.testing.networks.telegram_forms import shown_name
from angelia.testing.networks.telegram_markup import seen
from angelia.testing.networks.telegram_schema import BotApiError, check
from angelia.testing.networks.telegram_server import TOKEN, TelegramServer
from angelia.testing.networks.telegram_world import GROUP, HERE

REFUSED = {
    "a method that is not there": ("sendTelegram", {}, "Not Found: method not found"),
    "a parameter that is not there": ("sendMessage", {"chat": "1"}, "Bad Request: sendMessage has no parameter chat"),
    "no chat": ("sendMessage", {"text": "x"}, "Bad Request: parameter chat_id is required"),
    "no words": ("sendMessage", {"chat_id": HERE.chat, "text": " "}, "Bad Request: message text is empty"),
    "no number": (
        "deleteMessage",
        {"chat_id": HERE.chat, "message_id": "one"},
        "Bad Request: can't parse deleteMessage.message_id",
    ),
    "a number as a string": (
        "sendMessage",
        {"chat_id": HERE.chat, "text": "x", "reply_parameters": '{"message_id": "1"}'},
        "Bad Request: sendMessage.reply_parameters.message_id: Integer",
    ),
    "a field that is not there": (
        "sendMessage",
        {"chat_id": HERE.chat, "text": "x", "reply_parameters": '{"message_id": 1, "id": 1}'},
        "Bad Request: sendMessage.reply_parameters has no field id",
    ),
    "another markup": (
        "sendMessage",
        {"chat_id": HERE.chat, "text": "x", "parse_mode": "Markdown"},
        "Bad Request: unsupported parse_mode",
    ),
    "too long a button": (
        "sendMessage",
        {
            "chat_id": HERE.chat,
            "text": "x",
            "reply_markup": '{"inline_keyboard": [[{"text": "x", "callback_data": "%s"}]]}' % ("x" * 65),
        },
        "Bad Request: BUTTON_DATA_INVALID",
    ),
    "a draft in a group": (
        "sendMessageDraft",
        {"chat_id": GROUP.chat, "draft_id": "1", "text": "x"},
        "Bad Request: TEXTDRAFT_PEER_INVALID",
    ),
    "a draft without a number": (
        "sendMessageDraft",
        {"chat_id": HERE.chat, "draft_id": "0", "text": "x"},
        "Bad Request: draft_id must be non-zero",
    ),
    "too long a draft": (
        "sendMessageDraft",
        {"chat_id": HERE.chat, "draft_id": "1", "text": "x" * 4097},
        "Bad Request: message is too long",
    ),
    "a draft for a name": (
        "sendMessageDraft",
        {"chat_id": "@ann", "draft_id": "1", "text": "x"},
        "Bad Request: can't parse sendMessageDraft.chat_id",
    ),
    "an emoji that is no reaction": (
        "setMessageReaction",
        {"chat_id": HERE.chat, "message_id": "101", "reaction": '[{"type": "emoji", "emoji": "🧱"}]'},
        "Bad Request: REACTION_INVALID",
    ),
}


@pytest.mark.anyio
@pytest.mark.parametrize(("method", "said", "description"), REFUSED.values(), ids=REFUSED)
async def test_the_server_refuses(method: str, said: dict[str, str], description: str) -> None:
    async with (
        TelegramServer() as server,
        httpx2.AsyncClient(base_url=server.url, trust_env=False, verify=False) as http,
    ):
        await http.post(f"/bot{TOKEN}/sendMessage", data={"chat_id": HERE.chat, "text": "the message 101"})
        answer = (await http.post(f"/bot{TOKEN}/{method}", data=said)).json()
        assert not answer["ok"]
        assert answer["description"].startswith(description)
        assert len(server.arrived) == 1


@pytest.mark.anyio
async def test_a_draft_is_seen_for_thirty_seconds_or_until_the_bot_says_something() -> None:
    now = 0.0
    async with (
        TelegramServer() as server,
        httpx2.AsyncClient(base_url=server.url, trust_env=False, verify=False) as http,
    ):
        server.world.clock = lambda: now

        async def draft(words: str) -> str:
            said = {"chat_id": HERE.chat, "draft_id": "7", "text": words}
            assert (await http.post(f"/bot{TOKEN}/sendMessageDraft", data=said)).json() == {"ok": True, "result": True}
            return server.world.drafted(HERE)

        assert await draft("one") == "one"
        now = 29.0
        assert await draft("one two") == "one two"
        now = 58.0
        assert server.world.drafted(HERE) == "one two"
        now = 59.0
        assert server.world.drafted(HERE) == ""
        await draft("three")
        await server.bring(Thing(IncomingKind.TEXT, HERE, "hm"))
        assert server.world.drafted(HERE) == "three"
        await http.post(f"/bot{TOKEN}/sendMessage", data={"chat_id": HERE.chat, "text": "three."})
        assert server.world.drafted(HERE) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<b>x", 'Can\'t find end tag corresponding to start tag "b"'),
        ("<b><i>x</b></i>", "Unmatched end tag"),
        ("x</b>", "Unexpected end tag"),
        ("a < b", "Unsupported start tag"),
        ("<p>x</p>", 'Unsupported start tag "p" at byte offset 0'),
        ("é<br>", 'Unsupported start tag "br" at byte offset 2'),
    ],
)
def test_broken_markup_is_refused_with_its_place(text: str, why: str) -> None:
    with pytest.raises(BotApiError, match=why):
        seen(text, "HTML", 4096, "message")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (' <b>a</b> &lt;i&gt; &amp;amp; &copy; &#33; <a href="x?a=1&amp;b=2">l</a>\n', "a <i> &amp; &copy; ! l"),
        ('<pre><code class="language-c">a &lt; b</code></pre>', "a < b"),
    ],
)
def test_markup_is_not_seen(text: str, shown: str) -> None:
    assert seen(text, "HTML", 4096, "message") == shown


def test_a_text_is_counted_in_utf16_units_after_its_markup() -> None:
    assert seen("<b>" + "🦊" * 2048 + "</b>", "HTML", 4096, "message") == "🦊" * 2048
    with pytest.raises(BotApiError, match="message is too long"):
        seen("🦊" * 2048 + "x", "HTML", 4096, "message")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Makefile", "Makefile"),
        (".pdf", "pdf"),
        ("...", "file"),
        ("🦊", "file"),
        ('a "b": c?.pdf', "a  b   c.pdf"),
        ("x" * 70 + ".tar.gz", "x" * 60 + ".gz"),
    ],
)
def test_names_are_cleaned(name: str, shown: str) -> None:
    assert shown_name(name) == shown


def test_its_own_updates_are_checked_too() -> None:
    with pytest.raises(BotApiError, match=r"Update\.message lacks message_id"):
        check("Update", {"update_id": 1, "message": {"date": 1, "chat": {"id": 1, "type": "private"}}})


@pytest.mark.anyio
async def test_it_runs_by_itself_and_prints_what_arrives() -> None:
    argv = (sys.executable, "-m", "angelia.testing.networks.telegram_server")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe)
    assert process.stdin
    assert process.stdout
    url = (await process.stdout.readline()).decode().strip()
    _, _, token = (await process.stdout.readline()).decode().strip().partition("=")
    async with httpx2.AsyncClient(base_url=f"{url}/bot{token}/", trust_env=False, verify=False, timeout=60) as http:
        process.stdin.write(b"hello\n")
        await process.stdin.drain()
        news = (await http.post("getUpdates", data={"timeout": "50"})).json()["result"]
        await http.post("sendDocument", data={"chat_id": HERE.chat}, files={"document": ("a.txt", b"bytes")})
    told = msgspec.json.decode(await process.stdout.readline(), type=dict[str, object])
    process.stdin.close()
    assert await process.wait() == 0
    assert news[0]["message"]["text"] == "hello"
    assert {name: told[name] for name in ("method", "name", "size")} == {
        "method": "sendDocument",
        "name": "a.txt",
        "size": 5,
    }
    assert set(told) - {"size", "sha256"} <= set(ArrivedMessage.__struct_fields__)
