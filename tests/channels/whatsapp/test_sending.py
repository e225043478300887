"""What goes out: within the 24 hours or with a word on them, as buttons or a list, and each file up once."""

from functools import partial

import pytest
from msgspec.structs import replace

from angelia.channels.capabilities import Kind
from angelia.channels.failures import CannotFetch, Later, LoginFailed, Rejected, WindowClosed
from angelia.channels.incoming import Confirmed
from angelia.channels.outgoing import Button, OutText
from angelia.channels.whatsapp import refusals
from angelia.channels.whatsapp.api import Graph, guessed_wait
from angelia.channels.whatsapp.channel import WhatsAppChannel
from angelia.channels.whatsapp.refusals import GraphError
from angelia.channels.whatsapp.settings import WhatsAppSettings
from angelia.core.ids import sortable_id
from angelia.testing.channels.network import Flood
from angelia.testing.channels.samples import sample_of
from angelia.testing.channels.stage import Stage, staged
from angelia.testing.networks.whatsapp_server import TOKEN, WhatsAppServer
from angelia.testing.networks.whatsapp_world import GROUP, HERE, HIDDEN, LATE, PHONE
from tests.channels.whatsapp.outfits import opened

pytestmark = pytest.mark.anyio

WITH_TEMPLATE = partial(WhatsAppServer, template="please_write")


def fake(stage: Stage) -> WhatsAppServer:
    assert isinstance(stage.network, WhatsAppServer)
    return stage.network


async def token() -> str:
    return TOKEN


async def late(stage: Stage) -> WindowClosed:
    """Send something to somebody whose last message is too old."""
    with pytest.raises(WindowClosed) as closed:
        await stage.channel.send(LATE, OutText("hello"), sortable_id())
    return closed.value


async def test_after_24_hours_it_is_said_what_is_still_allowed() -> None:
    async with staged(WhatsAppServer) as stage:
        closed = await late(stage)
        assert "within 24 hours" in closed.what
        assert "`template`" in closed.then
        assert not fake(stage).world.templates


async def test_a_template_asks_them_to_write_once_a_day() -> None:
    async with staged(WITH_TEMPLATE) as stage:
        assert "“please_write” asks them to write" in (await late(stage)).then
        assert "“please_write”" not in (await late(stage)).then
        assert fake(stage).world.templates == [(LATE.chat, "please_write")]


async def test_after_a_clock_that_was_years_ahead_a_template_asks_again() -> None:
    now = [1_900_000_000_000]
    async with WhatsAppServer(template="please_write") as network:
        channel = opened(network, lambda: now[0])
        for now[0] in (1_900_000_000_000, 1_700_000_000_000):
            with pytest.raises(WindowClosed, match="please_write"):
                await channel.send(LATE, OutText("hello"), sortable_id())
        await channel.close()


async def test_a_template_asks_also_when_whatsapp_says_only_later_that_it_is_too_late() -> None:
    async with staged(WITH_TEMPLATE) as stage:
        network = fake(stage)
        message = (await stage.send(OutText("hello"))).message
        network.world.confirm(message, HERE.chat, "failed", errors=[{"code": 131047, "title": "Re-engagement message"}])
        network.tell()
        await network.courier.when_brought(1)
        assert isinstance(stage.heard[0].what, Confirmed)
        assert network.world.templates == [(HERE.chat, "please_write")]


async def test_more_than_three_buttons_or_long_words_become_a_list() -> None:
    four = tuple(Button(f"Number {one}", f"n{one}") for one in range(4))
    async with staged(WhatsAppServer) as stage:
        assert (await stage.send(OutText("Which?", buttons=four))).buttons == four
        assert (await stage.send(OutText("x" * 1025, buttons=four[:2]))).buttons == four[:2]


async def test_labels_that_are_too_long_or_alike_are_told_apart() -> None:
    labels = ("Yes, for this conversation", "Yes, for this conversion too", "No")
    async with staged(WhatsAppServer) as stage:
        sent = await stage.send(OutText("May I?", buttons=tuple(Button(label, label[:9]) for label in labels[:1])))
        assert sent.buttons == (Button("Yes, for this conve…", "Yes, for "),)
        buttons = tuple(Button(label, str(at)) for at, label in enumerate(labels))
        shown = [button.label for button in (await stage.send(OutText("May I?", buttons=buttons))).buttons]
        assert shown == ["Yes, for this conve…", "2. Yes, for this con", "No"]


async def test_a_group_has_no_buttons_and_words_reach_it() -> None:
    async with staged(WhatsAppServer) as stage:
        assert isinstance(stage.channel, WhatsAppChannel)
        assert not stage.channel.abilities_in(GROUP).can(Kind.BUTTONS)
        await stage.channel.send(GROUP, OutText("hello all"), sortable_id())
        assert (fake(stage).arrived[-1].chat, fake(stage).arrived[-1].text) == (GROUP.chat, "hello all")


async def test_somebody_who_hides_their_number_is_answered() -> None:
    async with staged(WhatsAppServer) as stage:
        await stage.channel.send(HIDDEN, OutText("hello"), sortable_id())
        assert fake(stage).arrived[-1].chat == HIDDEN.chat


async def test_a_file_that_is_sent_again_goes_up_once() -> None:
    async with staged(WhatsAppServer) as stage:
        outgoing = stage.file(sample_of(Kind.DOCUMENT))
        fake(stage).misbehave(Flood(1))
        await stage.fails(stage.channel.send(HERE, outgoing, "key"), Later)
        await stage.channel.send(HERE, outgoing, "key")
        assert len(fake(stage).world.files) == 1


async def test_plain_text_by_any_name_goes_as_a_file_and_what_nobody_takes_is_refused() -> None:
    async with staged(WhatsAppServer) as stage:
        sheet = replace(sample_of(Kind.DOCUMENT), name="a.csv", mime="text/csv; charset=utf-8", data=b"a,b\n")
        assert (await stage.send(stage.file(sheet))).name == "a.csv"
        packed = replace(sheet, name="a.zip", mime="application/zip")
        await stage.fails(stage.channel.send(HERE, stage.file(packed), sortable_id()), Rejected)


async def test_nobody_is_typed_to_who_has_said_nothing() -> None:
    async with staged(WhatsAppServer) as stage:
        await stage.channel.typing(HERE)
        assert not fake(stage).arrived


async def test_a_wait_that_is_not_told_grows_with_each_refusal_and_for_each_chat_alone() -> None:
    error = GraphError(131056, error_data=refusals.WhatsAppDetails("pair rate limit hit"))
    assert isinstance(refusals.told(400, error, 16.0), Later)
    async with staged(WhatsAppServer) as stage:
        seconds = []
        for _ in range(3):
            fake(stage).misbehave(Flood(0))
            refused = await stage.fails(stage.channel.send(HERE, OutText("x"), sortable_id()), Later)
            assert isinstance(refused, Later)
            seconds.append(refused.seconds)
        assert seconds == [1.0, 4.0, 16.0]
        await stage.channel.send(HERE, OutText("x"), sortable_id())
        fake(stage).misbehave(Flood(0))
        again = await stage.fails(stage.channel.send(HERE, OutText("x"), sortable_id()), Later)
        assert isinstance(again, Later)
        assert again.seconds == 1.0


@pytest.mark.parametrize(("tries", "seconds"), [(0, 1.0), (4, 256.0), (5, 1024.0), (6, 1024.0), (100_000, 1024.0)])
def test_a_wait_that_is_not_told_has_a_bound_however_long_it_goes_on(tries: int, seconds: float) -> None:
    assert guessed_wait(tries) == seconds


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, 131047, WindowClosed),
        (400, 131026, Rejected),
        (400, 190, LoginFailed),
        (403, 10, LoginFailed),
        (400, 133010, LoginFailed),
        (400, 131056, Later),
        (429, 80007, Later),
        (400, 131053, Rejected),
    ],
)
def test_a_refusal_is_named_by_what_can_be_done(status: int, code: int, kind: type[Exception]) -> None:
    error = refusals.told(status, GraphError(code, "(#1) so it is"), 6.0)
    assert type(error) is kind
    assert str(code) in str(error) or code == refusals.WINDOW


async def test_the_token_goes_to_nobody_but_meta() -> None:
    async with WhatsAppServer() as network:
        number, network.files_at = network.world.store(b"x", "text/plain"), "https://evil.example"
        graph = Graph(WhatsAppSettings(phone=PHONE, api=network.url), token, 5.0)
        with pytest.raises(CannotFetch, match=r"evil\.example"):
            await anext(graph.download(number))
        await graph.close()


async def test_without_a_phone_number_it_is_said_what_is_missing() -> None:
    graph = Graph(WhatsAppSettings(api="http://127.0.0.1:9"), token, 5.0)
    with pytest.raises(LoginFailed, match="`phone`"):
        await graph.look(1.0)
