"""Becomes a program that finds a pipe at its descriptors 3 and 4, where Chromium looks for its debugger.

It is run by its path: `python -I -S exec_on_pipe.py READ WRITE USER PROGRAM ARGUMENT…`; USER is the number of who
it becomes, 0 for whoever it is. Other descriptors that were handed on stay. A process of its own does it: nothing may
be rearranged between fork and exec in one that has threads, and since nobody else may be able to read this Python.
"""

import os
import sys


def main(reading: int, writing: int, user: int, argv: list[str]) -> None:
    """Put the pipe in its place."""
    high = 100  # above anything that is to stay, so that neither end is overwritten by the other
    kept = os.dup2(reading, high), os.dup2(writing, high + 1)
    for handle in (reading, writing):
        os.close(handle)
    for handle, place in zip(kept, (3, 4), strict=True):
        os.dup2(handle, place)
        os.close(handle)
    if user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    os.execv(argv[0], argv)  # noqa: S606 - what it was told


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
