"""A program that listens inside another process's network namespace, and hands the socket to whoever started it.

It is run by its path, with nothing but the standard library in sight: `python -I -S listen_inside.py INFO GIVE PORT`.
INFO is a descriptor from which bubblewrap's `--info-fd` is read, GIVE one end of a pair of Unix sockets, over which
comes `ok` with the socket, or a sentence that says why not.

Only a process with a single thread may enter a user namespace (setns(2)), so it is a process of its own. The one that
owns the network is not always the one that the process is in (bubblewrap makes a second one for `--dev`), so it is
asked of the network namespace itself (ioctl_ns(2)). Of the standard library only what is quick to load: a command waits
for this.
"""

import ctypes
import fcntl
import os
import socket
import sys

_NS_GET_USERNS = 0xB701
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_IP_FREEBIND = 15
_BACKLOG = 128


def main(info: int, give: int, port: int) -> None:
    """Say on `give` what became of it."""
    giving = socket.socket(fileno=give)
    try:
        listening = _listen(_pid(info), port)
        socket.send_fds(giving, [b"ok"], [listening.fileno()])
    except OSError as error:
        giving.send((error.strerror or str(error)).encode())


def _pid(info: int) -> int:
    """The number in `{ "child-pid": 123, … }`."""
    said = b""
    while b"}" not in said:
        if not (more := os.read(info, 4096)):
            raise OSError("the command ended before it began")
        said += more
    return int(said.partition(b'"child-pid":')[2].strip().partition(b",")[0].strip(b"\n }"))


def _listen(pid: int, port: int) -> socket.socket:
    network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    if _same(network, "net"):
        raise OSError("the command has no network of its own")
    owner = fcntl.ioctl(network, _NS_GET_USERNS)
    libc = ctypes.CDLL(None, use_errno=True)
    if not _same(owner, "user"):
        _enter(libc, owner, _CLONE_NEWUSER)
    _enter(libc, network, _CLONE_NEWNET)
    listening = socket.socket()
    # bubblewrap may not have brought up the loopback yet, and without it the address is not there
    listening.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen(_BACKLOG)
    return listening


def _same(handle: int, kind: str) -> bool:
    mine, other = os.stat(f"/proc/self/ns/{kind}"), os.fstat(handle)  # noqa: PTH116 - pathlib takes ms to load
    return (mine.st_dev, mine.st_ino) == (other.st_dev, other.st_ino)


def _enter(libc: ctypes.CDLL, handle: int, kind: int) -> None:
    if libc.setns(handle, kind) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
