"""No file that a confined command leaves is set-user-id, however its mode is set; other modes are as ever."""

import stat
from pathlib import Path

import pytest

from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import Command
from angelia.testing.sandboxes.acts import said

pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap")]

PYTHON = "/usr/bin/python3 -c 'import os, ctypes; call = ctypes.CDLL(None, use_errno=True).syscall; {}'"
HOW = 'ctypes.create_string_buffer((0o102).to_bytes(8, "little") + (0o4755).to_bytes(8, "little") + bytes(8))'
WAYS = {
    "chmod": "cp /bin/true f; chmod 4755 f",
    "chmod u+s": "cp /bin/true f; chmod u+s f",
    "install": "install -m 4755 /bin/true f",
    "moved from elsewhere": "cp /bin/true /tmp/s; chmod 4755 /tmp/s; mv /tmp/s f",
    "tar": "printf x > f; chmod 755 f; tar cf t --mode=4755 f; rm f; tar xpf t",
    "fchmod": PYTHON.format('os.fchmod(os.open("f", os.O_CREAT), 0o4755)'),
    "fchmodat": PYTHON.format('os.close(os.open("f", os.O_CREAT)); os.chmod("f", 0o4755, dir_fd=os.open(".", 0))'),
    "open": PYTHON.format('os.umask(0); os.open("f", os.O_CREAT, 0o4755)'),
    "tmpfile": PYTHON.format(
        'os.umask(0); t = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o4755);'
        ' os.link(f"/proc/self/fd/{t}", "f", follow_symlinks=True)'
    ),
    "mknod": PYTHON.format('os.umask(0); os.mknod("f", 0o104755)'),
    "openat2": PYTHON.format(f'os.umask(0); call(437, -100, b"f", {HOW}, 24)'),
    "fchmodat2": PYTHON.format('os.close(os.open("f", os.O_CREAT)); call(452, -100, b"f", 0o4755, 0)'),
    "a shell of the person's": "cp /bin/true f; sh -c 'chmod 4755 f'",
}


@pytest.fixture
async def sandbox(tmp_path: Path) -> LocalSandbox:
    (tmp_path / "work").mkdir()
    return LocalSandbox(tmp_path / "work", home=tmp_path / "home", state=tmp_path / "run")


@pytest.mark.parametrize("way", WAYS)
async def test_no_way_of_setting_a_mode_leaves_the_bit(tmp_path: Path, sandbox: LocalSandbox, way: str) -> None:
    output, _ = await said(sandbox, Command(shell=WAYS[way]))
    await sandbox.close()
    file = tmp_path / "work" / "f"
    assert not (file.exists() and file.stat().st_mode & stat.S_ISUID), output
    refused = "not permitted" in output.decode() or "No such file" in output.decode()
    assert refused or "call(" in WAYS[way], output


async def test_io_uring_is_not_there(sandbox: LocalSandbox) -> None:
    asked = PYTHON.format("call(425, 8, ctypes.create_string_buffer(120)); print(ctypes.get_errno())")
    assert (await said(sandbox, Command(shell=asked)))[0] == b"38\n"
    await sandbox.close()


async def test_other_modes_are_as_ever(tmp_path: Path, sandbox: LocalSandbox) -> None:
    made = "umask 022; touch a; chmod 751 a; mkdir d; chmod 3775 d; install -m 640 /dev/null b; cp -a d e"
    line = f"{made}; git init -q --shared g"
    output, end = await said(sandbox, Command(shell=line))
    await sandbox.close()
    assert (output, end.status) == (b"", 0)
    modes = {name: stat.S_IMODE((tmp_path / "work" / name).stat().st_mode) for name in "adbe"}
    assert modes == {"a": 0o751, "d": 0o3775, "b": 0o640, "e": 0o3775}
