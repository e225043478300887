"""Claims about files that every sandbox must meet."""

import asyncio
import os
import shlex
from collections.abc import AsyncIterator

from angelia.sandboxes.local.files import umask
from angelia.sandboxes.port import (
    AccessRefused,
    FileChanged,
    FileKind,
    FileTooLarge,
    IsFolder,
    Judged,
    NoSuchFile,
    NotAFile,
)
from angelia.testing.claims import expect
from angelia.testing.sandboxes.acts import (
    Make,
    Sizes,
    arrives,
    names_in,
    pieces,
    place,
    refused,
    script,
    sha256,
    shell,
)
from angelia.testing.sandboxes.large import LARGE_FILES

ODD_NAMES = (
    "Makefile",
    "a b",
    " before and after ",
    'it\'s "quoted"',
    "two\nlines",
    "tab\tand\rreturn",
    "--help",
    "-rf",
    "*",
    "$(touch pwned)",
    "`id`;id|id&",
    "back\\slash",
    "~",
    "🦊 é 漢字",
    "\u202eright to left",
    os.fsdecode(b"not \xff\xfe UTF-8"),
    "x" * 255,
    "é" * 127,
)


async def bytes_arrive_as_they_were(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        for data in (b"", b"x", b"\0", b"\r\n", bytes(range(256)) * 7):
            await place(sandbox, "file", data)
            expect(await arrives(sandbox, "file") == data, f"{len(data)} bytes came back changed")
            hashed = await shell(sandbox, "sha256sum < file")
            expect(hashed.split()[0] == sha256(data), f"{len(data)} bytes are others inside")


async def a_limit_is_checked_before_a_byte_moves(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        await place(sandbox, "ten", b"0123456789")
        expect(await arrives(sandbox, "ten", limit=10) == b"0123456789", "a file of the limit's size is refused")
        await refused(anext(aiter(sandbox.get("ten", limit=9))), FileTooLarge)


async def odd_names_are_ordinary(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        for at, name in enumerate(ODD_NAMES):
            await place(sandbox, f"odd/{name}", b"%d" % at)
        for at, name in enumerate(ODD_NAMES):
            expect(await arrives(sandbox, f"odd/{name}") == b"%d" % at, f"{name!r} holds another file's bytes")
            expect((await sandbox.stat(f"odd/{name}")).kind is FileKind.FILE, f"{name!r} is not told as a file")
        expect(await names_in(sandbox, "odd") == set(ODD_NAMES), "the list of odd names is another")
        expect(await names_in(sandbox, ".") == {"odd"}, "a name was taken for a command")


async def kinds_are_told_and_links_are_not_followed(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        await shell(sandbox, "echo hello > file; mkdir folder; ln -s file link; ln -s nowhere broken; mkfifo pipe")
        kinds = {entry.path.rpartition("/")[2]: entry.kind async for entry in sandbox.list(".")}
        wanted = {
            "file": FileKind.FILE,
            "folder": FileKind.FOLDER,
            "link": FileKind.LINK,
            "broken": FileKind.LINK,
            "pipe": FileKind.OTHER,
        }
        expect(kinds == wanted, f"kinds are told as {kinds}")
        for name, kind in wanted.items():
            expect((await sandbox.stat(name)).kind is kind, f"{name} is not told as {kind}")
        expect((await sandbox.stat("link")).target == "file", "where a link points is told wrong")
        expect((await sandbox.stat("file")).size == 6, "the size is told wrong")


_EXPECTED_MODES = (0o755, 0o755 & ~umask())
"""What a new file of mode 0755 may have: on this machine the person's umask is taken from it."""


async def permissions_are_given_and_told(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        await place(sandbox, "run.sh", b"#!/bin/sh\necho ran\n", mode=0o755)
        expect((await sandbox.stat("run.sh")).mode in _EXPECTED_MODES, "the mode is told wrong")
        expect(await shell(sandbox, "./run.sh") == "ran", "a program that was put does not run")


async def a_time_is_kept_and_told(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        for seconds in (1.0, 1_234_567_890.5):
            await place(sandbox, "old", b"data", mode=0o755, modified=seconds)
            told = await sandbox.stat("old")
            expect(int(told.modified) == int(seconds), f"a file of {seconds} is told as one of {told.modified}")
            expect(told.mode in _EXPECTED_MODES, "the mode is lost where a time is given")
            inside = await shell(sandbox, "stat -c %Y old")
            expect(inside == str(int(seconds)), f"a file of {seconds} has the time {inside} inside")
        await place(sandbox, "new", b"data")
        newer = await shell(sandbox, "find new -newer old")
        expect(newer == "new", "a file that was put without a time has an old one")


async def what_is_missing_is_said(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        await shell(sandbox, "mkdir folder; echo x > file")
        await refused(arrives(sandbox, "nothing"), NoSuchFile)
        await refused(arrives(sandbox, "nowhere/nothing"), NoSuchFile)
        await refused(arrives(sandbox, "file/inside"), NoSuchFile)
        await refused(sandbox.stat("nothing"), NoSuchFile)
        await refused(names_in(sandbox, "nothing"), NoSuchFile)
        await refused(arrives(sandbox, "folder"), IsFolder)
        await refused(place(sandbox, "folder", b"x"), IsFolder)


async def links_inside_are_followed(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        workspace = (await sandbox.describe()).workspace
        await shell(sandbox, "mkdir -p a/b; echo inside > a/b/file; ln -s a/b near; ln -s ../a/b/file a/up")
        await shell(sandbox, f"ln -s {shlex.quote(workspace)}/a/b/file whole")
        for path in ("near/file", "a/up", "whole", f"{workspace}/near/../b/file", "a/./b//file"):
            expect(await arrives(sandbox, path) == b"inside\n", f"{path!r} does not lead to its file")
        await place(sandbox, "a/up", b"changed")
        expect(await shell(sandbox, "cat a/b/file") == "changed", "writing through a link did not reach its file")


async def links_to_the_outside_are_refused(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        await shell(sandbox, "ln -s /etc/passwd l1; ln -s /etc l2; ln -s ../../../../../../../../etc l3; ln -s l1 l4")
        await shell(sandbox, "ln -s loop loop; mkdir d; ln -s .. d/up; ln -s /proc/self/root root")
        paths = ("l1", "l2/passwd", "l3/passwd", "l4", "loop", "d/up/../../etc/passwd")
        for path in (*paths, "../x", "/etc/passwd", "d/../../x"):
            await refused(arrives(sandbox, path), AccessRefused)
        for path in ("l2/new", "l3/new", "../new", "/etc/new"):
            await refused(place(sandbox, path, b"x"), AccessRefused)
        # A link that leads to where commands write and nobody looks: a guard takes it away when the command ends.
        await refused(arrives(sandbox, "root/etc/passwd"), AccessRefused, NoSuchFile)
        await refused(names_in(sandbox, "l2"), AccessRefused)
        await refused(sandbox.stat("l2/passwd"), AccessRefused)


async def what_has_no_end_is_not_read(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        await shell(sandbox, "mkfifo pipe; ln -s /dev/zero zero; ln -s /proc/self/environ environ; ln -s pipe link")
        for path in ("pipe", "link", "zero", "environ", "/dev/zero", "/dev/tty", "/proc/self/mem", "/proc/kmsg"):
            await refused(arrives(sandbox, path), NotAFile, AccessRefused, NoSuchFile)
        await refused(place(sandbox, "pipe", b"x"), NotAFile)


async def what_is_swapped_in_while_we_read_leads_nowhere(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        await shell(sandbox, "mkdir d; echo inside > d/passwd; echo inside > f; cp f x; ln -s /etc/passwd out")
        swap = "cp f f2; mv -f f2 x; cp -P out o2; mv -f o2 x; mv d d2; ln -s /etc d; rm d; mv d2 d; "
        swap += "rm -f p; cp f p; rm -f p; mkfifo p"
        swapper = await sandbox.start(script(f"while :; do {swap}; done 2>/dev/null"))
        seen = 0
        for _ in range(sizes.races):
            for path in ("x", "d/passwd", "p"):
                try:
                    got = await arrives(sandbox, path)
                except (AccessRefused, NoSuchFile, NotAFile, FileChanged):
                    continue
                seen += 1
                expect(got in (b"inside\n", b""), f"{path!r} gave what lies outside: {got[:60]!r}")
        await swapper.kill()
        expect(seen > 0, f"not one of {3 * sizes.races} reads went well")


async def a_path_that_was_judged_follows_no_link(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        await shell(sandbox, "mkdir d; echo inside >d/f; echo secret >s; ln -s s last; ln -s d middle")
        workspace = (await sandbox.describe()).workspace

        def judged(name: str) -> Judged:
            return Judged(f"{workspace}/{name}")

        await place(sandbox, judged("d/new/g"), b"put")
        expect(await arrives(sandbox, judged("d/f")) == b"inside\n", "a judged path without a link is not read")
        expect(await arrives(sandbox, judged("d/new/g")) == b"put", "a judged path without a link is not written")
        expect((await sandbox.stat(judged("last"))).kind is FileKind.LINK, "a link that was looked at is none")
        for name in ("last", "middle/f"):
            await refused(arrives(sandbox, judged(name)), FileChanged)
            await refused(place(sandbox, judged(name), b"overwritten"), FileChanged)
        await refused(place(sandbox, judged("middle/deep/er"), b"new"), FileChanged)
        await refused(sandbox.stat(judged("middle/f")), FileChanged)
        await refused(names_in(sandbox, judged("middle")), FileChanged)
        expect(
            await shell(sandbox, "cat s last d/f; ls d") == "secret\nsecret\ninside\nf\nnew", "something was changed"
        )


async def a_file_is_written_whole_or_not_at_all(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        await place(sandbox, "file", b"old")
        new = b"new" * 100_000
        promised = (
            (len(new), sha256(b"other")),
            (len(new) - 1, sha256(new)),
            (len(new) + 1, sha256(new)),
            (0, sha256(b"")),
        )
        for size, digest in promised:
            await refused(sandbox.put("file", pieces(new), size=size, sha256=digest), FileChanged)
        try:
            await sandbox.put("file", _breaks_off(new), size=len(new) * 2, sha256=sha256(new))
        except _BrokenOff:
            pass
        else:
            expect(False, "a source that broke off was taken for a whole file")
        expect(await arrives(sandbox, "file") == b"old", "the old file did not stand")
        expect(await names_in(sandbox, ".") == {"file"}, f"something was left: {await names_in(sandbox, '.')}")


async def a_cancelled_transfer_leaves_nothing(make: Make, sizes: Sizes) -> None:
    async with make() as sandbox:
        await place(sandbox, "file", b"old")
        begun = asyncio.Event()
        putting = asyncio.create_task(sandbox.put("file", _never_ends(begun), size=1 << 40, sha256="0" * 64))
        await begun.wait()
        putting.cancel()
        await asyncio.wait([putting])
        expect(putting.cancelled(), "a cancelled transfer went on")
        expect(await names_in(sandbox, ".") == {"file"}, f"something was left: {await names_in(sandbox, '.')}")


class _BrokenOff(Exception):
    """The other side went away."""


async def _breaks_off(data: bytes) -> AsyncIterator[bytes]:
    yield data
    raise _BrokenOff


async def _never_ends(begun: asyncio.Event) -> AsyncIterator[bytes]:
    while True:
        yield b"x" * 10_000
        begun.set()


FILE_CLAIMS = (
    bytes_arrive_as_they_were,
    a_limit_is_checked_before_a_byte_moves,
    odd_names_are_ordinary,
    *LARGE_FILES,
    kinds_are_told_and_links_are_not_followed,
    permissions_are_given_and_told,
    a_time_is_kept_and_told,
    what_is_missing_is_said,
    links_inside_are_followed,
    links_to_the_outside_are_refused,
    what_has_no_end_is_not_read,
    what_is_swapped_in_while_we_read_leads_nowhere,
    a_path_that_was_judged_follows_no_link,
    a_file_is_written_whole_or_not_at_all,
    a_cancelled_transfer_leaves_nothing,
)
