"""Pictures and PDFs are opened apart: whatever is in them, it ends, it is told, and it touches nobody else."""

import asyncio
import io
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from PIL import Image

from angelia.context.request import OpenedBytes, Shown
from angelia.core.content import Form, Media
from angelia.core.errors import BadInput
from angelia.store.media.blobs import BlobStore
from angelia.store.media.jobs import LIMITS, MediaLimitMet, MediaLimits, MediaType, ReadPages
from angelia.store.media.measure import Intake
from angelia.store.media.pictures import check
from angelia.store.media.processes import MediaProcesses, NotStarted
from angelia.store.media.renditions import Renditions
from tests.store.bombs import endless_pdf, flat_png, heavy_pdf, long_gif
from tests.store.drawn import as_text, pdf, picture

pytestmark = pytest.mark.anyio

READ = ReadPages(300, 1000, 3, "x.pdf")


def limited(seconds: float = 60, memory: int = 1_500_000_000) -> MediaProcesses:
    return MediaProcesses(limits=dict.fromkeys(MediaType, MediaLimits(seconds, memory, at_once=2)))


def children(pid: int) -> dict[int, str]:
    """The processes that `pid` began and that live, with their command lines."""
    found = {}
    for number in map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            found[number] = Path(f"/proc/{number}/cmdline").read_bytes().decode()
    return {number: line for number, line in found.items() if "media.worker" in line}


def only_child() -> int:
    """The one process that is left, once those that were killed are gone."""
    while len(found := children(os.getpid())) != 1:
        pass
    return next(iter(found))


def limits_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return {line[:26].strip(): line[26:47].strip() for line in lines}


def worked(pid: int) -> float:
    """Seconds of a processor that a process has had (proc(5), `stat`)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_end(pid: int) -> None:
    """Returns when a process has ended; the time limit of a test ends what does not."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    select.select([handle], [], [])
    os.close(handle)


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    (tmp_path / "home").mkdir()
    return BlobStore(tmp_path / "home")


@pytest.mark.parametrize(
    ("data", "limits", "said"),
    [
        (endless_pdf(), {"seconds": 1.5}, "took more than 1.5 s to open"),
        (heavy_pdf(20), {"memory": 600_000_000}, "took more than 600.0 MB of memory to open"),
    ],
    ids=["endless", "heavy"],
)
async def test_a_pdf_that_takes_too_much_is_ended_and_told_and_not_tried_again(
    data: bytes, limits: dict[str, float], said: str, blobs: BlobStore, tmp_path: Path
) -> None:
    media = await Intake(blobs).to_media(data, "x.pdf")
    shown = Shown(media, Form.TEXT_OR_PAGES, 300)
    processes = limited(**limits)  # type: ignore[arg-type]  # seconds or bytes
    (opened,) = await Renditions(blobs, tmp_path / "r", processes).open(shown)
    assert as_text(opened).startswith('[file "x.pdf"')
    assert said in as_text(opened)
    for process in children(os.getpid()):
        wait_for_end(process)

    def again() -> Sequence[str]:
        raise AssertionError("it was opened again")

    later = Renditions(blobs, tmp_path / "r", MediaProcesses(again, limits=processes.limits))
    assert await later.open(shown) == (opened,), "the next life is told the same, at once"
    other = Media(media.blob, media.media, name="other.pdf", pages=1)
    (elsewhere,) = await later.open(Shown(other, Form.TEXT_OR_PAGES, 500))
    assert said in as_text(elsewhere)
    assert '"x.pdf"' not in as_text(elsewhere), "under another name, at another size"


async def test_others_are_served_while_a_pdf_does_not_end(blobs: BlobStore, tmp_path: Path) -> None:
    renditions = Renditions(blobs, tmp_path / "r", limited())
    intake = Intake(blobs)
    bad = await intake.to_media(endless_pdf(), "bad.pdf")
    hangs = asyncio.create_task(renditions.open(Shown(bad, Form.TEXT_OR_PAGES, 300)))
    photo = await intake.to_media(picture((90, 60)), "photo.png")
    good = await intake.to_media(pdf("The cat sat on the mat"), "good.pdf")
    assert isinstance((await renditions.open(Shown(photo, Form.NATIVE, 30)))[0], OpenedBytes)
    assert "The cat sat" in as_text((await renditions.open(Shown(good, Form.TEXT)))[0])
    assert not hangs.done()
    process = only_child()
    hangs.cancel()
    await asyncio.gather(hangs, return_exceptions=True)
    wait_for_end(process)


LIFE = """
import asyncio
from angelia.store.media.jobs import MediaLimits, MediaType, ReadPages
from angelia.store.media.processes import MediaProcesses
from tests.store.bombs import endless_pdf
limits = dict.fromkeys(MediaType, MediaLimits(600, 1_500_000_000, 2))
asyncio.run(MediaProcesses(limits=limits).read_pages(endless_pdf(), ReadPages(300, 1000, 3, "x")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it ends by its limit of processor time")
def test_what_is_being_opened_ends_with_a_life_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", LIFE], cwd=Path(__file__).parents[2]) as life:
        try:
            while not (begun := children(life.pid)) or max(map(worked, begun)) < 0.7:
                assert life.poll() is None  # until it is well within the PDF; the other is a spare
        finally:
            life.kill()
            life.wait()
    for process in begun:
        wait_for_end(process)


async def test_a_picture_that_takes_too_much_memory_is_refused_with_the_number() -> None:
    with pytest.raises(MediaLimitMet, match=r'The picture "x.png" took more than 250.0 MB of memory to open') as met:
        await limited(memory=250_000_000).check(flat_png(9_000, 9_000), "x.png")
    assert met.value.then


async def test_an_animation_without_an_end_in_sight_is_ended_and_told() -> None:
    with pytest.raises(MediaLimitMet, match=r'The picture "x.gif" took more than 0.4 s to open'):
        await limited(seconds=0.4).redraw(long_gif(2_000_000), 1, "x.gif")


async def test_a_photo_of_many_megapixels_is_opened_within_the_limits() -> None:
    assert (await MediaProcesses().check(flat_png(8_000, 6_000), "x.png")).width == 8_000


async def test_what_was_taken_too_much_for_reaches_who_gave_it(blobs: BlobStore) -> None:
    told: list[MediaLimitMet] = []

    async def chunks() -> AsyncIterator[bytes]:
        yield flat_png(9_000, 9_000)

    intake = Intake(blobs, processes=limited(memory=250_000_000))
    media = await intake.stream_to_media(chunks(), "x.png", unopened=told.append)
    assert media.blob.mime == "application/octet-stream", "it goes by name only"
    assert "250.0 MB" in str(told[0])


@pytest.mark.parametrize("form", ["EPS", "PPM", "PCX", "TGA", "SGI", "DDS", "MSP"])
def test_a_format_that_nobody_needs_is_not_even_tried(form: str) -> None:
    out = io.BytesIO()
    Image.new("1" if form == "MSP" else "RGB", (8, 8)).save(out, form)
    with pytest.raises(BadInput, match="cannot be read"):
        check(out.getvalue())


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells")
async def test_what_waits_for_a_medium_may_write_nothing_begin_nothing_and_gain_nothing() -> None:
    processes = MediaProcesses(ahead=True)
    await processes.check(picture((9, 9)))
    first = only_child()
    await processes.check(picture((9, 9)))  # taken by the one that waited, so that it had been ready
    wait_for_end(first)
    waiting = only_child()
    while (said := limits_of(waiting))["Max address space"] == "unlimited":
        pass  # the last of them
    processes.close()
    wait_for_end(waiting)
    assert said["Max address space"] == str(LIMITS[MediaType.PICTURE].memory)
    assert said["Max cpu time"] == "35"
    assert (said["Max file size"], said["Max core file size"], said["Max open files"]) == ("0", "0", "32")
    assert said["Max processes"] == "0"


async def test_what_does_not_start_is_told_and_not_waited_for() -> None:
    with pytest.raises(NotStarted, match=r"could not be started \(false\): it ended with status 1"):
        await MediaProcesses(lambda: ("false",)).check(picture((9, 9)))
    with pytest.raises(NotStarted, match="No such file"):
        await MediaProcesses(lambda: ("/no/such/program",)).check(picture((9, 9)))


async def test_one_that_waited_too_long_is_replaced() -> None:
    processes = MediaProcesses(ahead=True)
    await processes.check(picture((9, 9)))
    waiting = only_child()
    os.kill(waiting, signal.SIGKILL)
    wait_for_end(waiting)
    assert (await processes.check(picture((9, 9)))).width == 9
    processes.close()


async def test_what_it_began_ends_with_it(tmp_path: Path) -> None:
    """As the inner one of two that confine it, before that is told to die with the outer one."""
    tells = tmp_path / "began"
    os.mkfifo(tells)
    beside = ("/bin/sh", "-c", f"sleep 1000 & echo $! >'{tells}'; wait")
    checking = asyncio.create_task(MediaProcesses(lambda: beside).check(picture((9, 9))))
    handle = os.pidfd_open(int(await asyncio.to_thread(tells.read_text)))
    checking.cancel()
    await asyncio.wait([checking])
    ended, _, _ = await asyncio.to_thread(select.select, [handle], [], [], 60)
    os.close(handle)
    assert ended == [handle]
