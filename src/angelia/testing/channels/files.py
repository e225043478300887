"""Claims about files that go out: whole, by the network's own method and name, or with a failure that says so."""

from collections.abc import Sequence
from functools import partial
from itertools import product

import msgspec

from angelia.channels.capabilities import FILES, Capabilities, Kind, NativeMethod
from angelia.channels.failures import Later, NotSent, Rejected, Unsure
from angelia.channels.outgoing import OutAlbum, OutFile, OutText
from angelia.channels.port import HasAlbums
from angelia.core.ids import sortable_id
from angelia.testing.channels.network import (
    ArrivedMessage,
    ChannelTimeouts,
    Flood,
    Reset,
    Sample,
    ServerError,
    TimeOut,
    Trouble,
)
from angelia.testing.channels.samples import SHAPES, sample_of, shaped
from angelia.testing.channels.stage import CALM, ChannelCheck, Make, Stage, staged
from angelia.testing.claims import expect

LARGEST = 100_000_000
"""Bytes of the largest file that is really sent; where a network takes more, its limit is lowered to this."""

LOWERED = 20_000
"""Bytes that a file may have in most checks, so that they are quick."""

TROUBLES: tuple[Trouble, ...] = (
    Flood(1),
    Flood(30),
    Flood(300),
    ServerError(),
    TimeOut(accepted=False),
    TimeOut(accepted=True),
    Reset(accepted=False),
    Reset(accepted=True),
)


def patience_for(trouble: Trouble) -> ChannelTimeouts:
    """Short where no answer comes, so that nobody waits for it; long elsewhere, since machines can be slow."""
    return ChannelTimeouts(answer=0.05) if isinstance(trouble, TimeOut) else CALM


def file_checks(capabilities: Capabilities) -> list[ChannelCheck]:
    """For each kind that the network has: every shape under every trouble."""
    kinds = [kind for kind in FILES if capabilities.can(kind)]
    found = [ChannelCheck(f"{kind} files arrive whole", partial(_arrive, kind)) for kind in kinds]
    found += [
        ChannelCheck(f"{kind} files and {one}", partial(_trouble, kind, one)) for kind, one in product(kinds, TROUBLES)
    ]
    if kinds:
        found.append(ChannelCheck("what the network finds too large is rejected", partial(_network_limit, kinds)))
        largest = max(kinds, key=lambda kind: _way(capabilities, kind).limit)
        found.append(ChannelCheck("a file at the real limit arrives", partial(_real_limit, largest)))
    if {Kind.DOCUMENT, Kind.PHOTO} <= set(kinds):
        found.append(ChannelCheck("a picture that goes as a file stays one", _picture_as_file))
    if capabilities.can(Kind.ALBUM):
        found.append(ChannelCheck("an album arrives as one", _album))
        found += [ChannelCheck(f"an album and {one}", partial(_album_trouble, one)) for one in TROUBLES]
    return found


def _way(capabilities: Capabilities, kind: Kind) -> NativeMethod:
    way = capabilities.ways[kind]
    expect(isinstance(way, NativeMethod), f"{kind} is not native")
    return way  # type: ignore[return-value]  # seen just above


def _lower(stage: Stage, limit: int = LOWERED) -> None:
    """Lower the limits of the channel and of its network."""
    capabilities = stage.channel.capabilities
    files = {kind: _way(capabilities, kind) for kind in FILES if capabilities.can(kind)}
    lowered = {kind: msgspec.structs.replace(way, limit=limit) for kind, way in files.items()}
    stage.channel.capabilities = msgspec.structs.replace(capabilities, ways={**capabilities.ways, **lowered})
    stage.network.lower(dict.fromkeys(files, limit))


async def _arrive(kind: Kind, make: Make) -> None:
    async with staged(make) as stage:
        _lower(stage)
        way = _way(stage.channel.capabilities, kind)
        caption = "what it is" if way.caption else ""
        for shape in SHAPES:
            sample = shaped(sample_of(kind, way), shape, LOWERED)
            outgoing = stage.file(sample, caption)
            if shape == "over the limit":
                await _is_rejected(stage, outgoing)
            elif shape == "empty":
                await _arrives_or_is_rejected(stage, outgoing, sample)
            else:
                _is_whole(stage, await stage.send(outgoing), sample, caption)


async def _trouble(kind: Kind, trouble: Trouble, make: Make) -> None:
    async with staged(make, patience_for(trouble)) as stage:
        _lower(stage)
        way = _way(stage.channel.capabilities, kind)
        for shape in SHAPES:
            sample = shaped(sample_of(kind, way), shape, LOWERED)
            outgoing = stage.file(sample)
            if shape == "over the limit":
                await _is_rejected(stage, outgoing)
            elif shape != "empty" or stage.network.takes_empty:
                await meets(stage, outgoing, trouble)


async def meets(stage: Stage, outgoing: OutText | OutFile | OutAlbum, trouble: Trouble) -> None:
    """Send something into a trouble: the failure is of the right type, and nothing arrived that it denies."""
    network, key = stage.network, sortable_id()
    before = len(network.arrived)
    network.misbehave(trouble)
    sending = _sent(stage, outgoing, key)
    parts = len(outgoing.files) if isinstance(outgoing, OutAlbum) else 1
    match trouble:
        case Flood(seconds):
            error = await stage.fails(sending, Later)
            expect(isinstance(error, Later) and error.seconds >= seconds, f"{seconds} s are told as {error}")
        case ServerError():
            await stage.fails(sending, NotSent)
        case TimeOut(accepted) | Reset(accepted):
            error = await stage.fails(sending, Unsure, NotSent)
            if accepted:
                await network.when(lambda: len(network.arrived) == before + parts)
            honest = isinstance(error, Unsure) or stage.channel.capabilities.idempotent or not accepted
            expect(honest, f"{outgoing} arrived, and the channel says that nothing was sent: {error}")
            if stage.channel.capabilities.idempotent:
                await stage.calmly(lambda: _sent(stage, outgoing, key))
                expect(len(network.arrived) == before + parts, "a repeat under the same key was not absorbed")
            return
    expect(len(network.arrived) == before, f"{trouble} let something arrive")


async def _network_limit(kinds: list[Kind], make: Make) -> None:
    async with staged(make) as stage:
        stage.network.lower(dict.fromkeys(kinds, LOWERED))
        for kind in kinds:
            sample = sample_of(kind, _way(stage.channel.capabilities, kind))
            await _is_rejected(stage, stage.file(shaped(sample, "over the limit", LOWERED)))


async def _real_limit(kind: Kind, make: Make) -> None:
    async with staged(make) as stage:
        way = _way(stage.channel.capabilities, kind)
        if way.limit > LARGEST:
            _lower(stage, LARGEST)
        limit = min(way.limit, LARGEST)
        sample = shaped(sample_of(kind, way), "at the limit", limit)
        _is_whole(stage, await stage.send(stage.file(sample)), sample, "")
        await _is_rejected(stage, stage.file(shaped(sample, "over the limit", limit)))


async def _picture_as_file(make: Make) -> None:
    async with staged(make) as stage:
        ways = stage.channel.capabilities.ways
        for kind in (Kind.PHOTO, Kind.ANIMATION, Kind.AUDIO, Kind.VIDEO):
            sample = msgspec.structs.replace(sample_of(kind), kind=Kind.DOCUMENT)
            if sample.mime not in (_way(stage.channel.capabilities, Kind.DOCUMENT).mimes or sample.mime):
                continue  # the network takes no such file at all
            arrived = await stage.send(stage.file(sample))
            if ways[kind] == ways[Kind.DOCUMENT]:  # the network tells them apart by their bytes, whatever we say
                arrived = msgspec.structs.replace(arrived, kind=Kind.DOCUMENT)
            _is_whole(stage, arrived, sample, "")


async def _sent(stage: Stage, outgoing: OutText | OutFile | OutAlbum, key: str) -> Sequence[str]:
    """Send something to the friend; the ids of what it became."""
    channel, to = stage.channel, stage.network.here
    if not isinstance(outgoing, OutAlbum):
        return (await channel.send(to, outgoing, key),)
    expect(isinstance(channel, HasAlbums), "the table has albums, and the channel is no `HasAlbums`")
    assert isinstance(channel, HasAlbums)
    return await channel.send_album(to, outgoing, key)


async def _album(make: Make) -> None:
    async with staged(make) as stage:
        outgoing, wanted = _pictures(stage, _way(stage.channel.capabilities, Kind.ALBUM).most)
        ids = await _sent(stage, outgoing, sortable_id())
        arrived = stage.network.arrived
        expect(len(arrived) == len(wanted), f"{len(wanted)} pictures were sent, and {len(arrived)} arrived")
        expect(len({one.album for one in arrived}) == 1 and bool(arrived[0].album), "they are not one album")
        expect([one.message for one in arrived] == list(ids), f"{ids} are not the ids of what arrived")
        expect(
            [one.text for one in arrived] == ["all of them"] + [""] * (len(wanted) - 1),
            "the caption is not the first's",
        )
        for one, sample in zip(arrived, wanted, strict=True):
            expect(one.data == sample.data, f"{sample.name} arrived changed")


async def _album_trouble(trouble: Trouble, make: Make) -> None:
    async with staged(make, patience_for(trouble)) as stage:
        await meets(stage, _pictures(stage, 2)[0], trouble)


def _pictures(stage: Stage, most: int) -> tuple[OutAlbum, list[Sample]]:
    way = _way(stage.channel.capabilities, Kind.PHOTO)
    wanted = [msgspec.structs.replace(sample_of(Kind.PHOTO, way), name=f"{n}.jpg") for n in range(most or 2)]
    wanted = [msgspec.structs.replace(one, data=one.data + bytes(n)) for n, one in enumerate(wanted)]
    files = [stage.file(one, "" if n else "all of them") for n, one in enumerate(wanted)]
    return OutAlbum(tuple(files)), wanted


def _is_whole(stage: Stage, arrived: ArrivedMessage, sample: Sample, caption: str) -> None:
    way = _way(stage.channel.capabilities, sample.kind)
    expect(arrived.data == sample.data, f"{sample.name!r}: {len(sample.data)} bytes left, {len(arrived.data)} came")
    expect(arrived.method == way.method, f"{sample.kind} came by {arrived.method}, not by {way.method}")
    expect(arrived.kind is sample.kind, f"{sample.kind} came as {arrived.kind}")
    expect(arrived.text == caption, f"the caption came as {arrived.text!r}")
    if arrived.name or sample.kind is Kind.DOCUMENT:
        named = stage.network.called(sample.name)
        # a network that knows a picture by its name's ending needs one
        ended = sample.kind is not Kind.DOCUMENT and arrived.name.rpartition(".")[0] == named
        expect(ended or arrived.name == named, f"{sample.name!r} is called {arrived.name!r}, and should be {named!r}")


async def _is_rejected(stage: Stage, outgoing: OutFile) -> None:
    before = len(stage.network.arrived)
    await stage.fails(stage.channel.send(stage.network.here, outgoing, sortable_id()), Rejected)
    expect(len(stage.network.arrived) == before, "something was rejected, and arrived")


async def _arrives_or_is_rejected(stage: Stage, outgoing: OutFile, sample: Sample) -> None:
    if stage.network.takes_empty:
        _is_whole(stage, await stage.send(outgoing), sample, outgoing.caption.plain if outgoing.caption else "")
    else:
        await _is_rejected(stage, outgoing)
