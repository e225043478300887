"""A hostile program: it changes names, memory and contents at once, while they are looked at."""

import ctypes
import os
import sys
import threading
import time

library = ctypes.CDLL(None, use_errno=True)
until = time.monotonic() + float(sys.argv[1])
names = sorted(name for name in os.listdir(".") if name.startswith("keep"))
path = ctypes.create_string_buffer(64)


def swapped() -> None:
    """The path that others' calls read changes all the time."""
    at = 0
    while time.monotonic() < until:
        at += 1
        path.value = names[at % len(names)].encode()


def emptied() -> None:
    while time.monotonic() < until:
        handle = library.open(path, os.O_WRONLY | os.O_TRUNC)
        if handle >= 0:
            os.write(handle, b"gone")
            os.close(handle)


def removed() -> None:
    while time.monotonic() < until:
        library.unlink(path)
        library.rename(b"other", path)
        library.truncate(path, 1)


def renamed() -> None:
    at = 0
    while time.monotonic() < until:
        at += 1
        one, two = names[at % len(names)], names[(at * 7 + 1) % len(names)]
        for old, new in ((one, "aside"), (two, one), ("aside", two)):
            try:
                os.rename(old, new)
            except OSError:
                pass


def linked() -> None:
    """A name that is a link at one moment and a file at the next; a folder that is another."""
    while time.monotonic() < until:
        for act in (
            lambda: os.symlink(names[0], "other"),
            lambda: open("other", "w").write("through the link"),
            lambda: os.unlink("other"),
            lambda: os.rename("folder", "moved"),
            lambda: open("folder/inner", "w").write("lost?"),
            lambda: os.rename("moved", "folder"),
            lambda: os.link(names[1], "second"),
            lambda: open("second", "w").write("by another name"),
            lambda: os.unlink("second"),
        ):
            try:
                act()
            except OSError:
                pass


acts = (swapped, emptied, removed, renamed, linked, emptied, removed)
threads = [threading.Thread(target=act) for act in acts]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
