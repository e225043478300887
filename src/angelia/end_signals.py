"""TERM and Ctrl-C, for what runs until it is told to end: the first one asks for an end, a second one is one."""

import asyncio
import signal

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def asked_to_end() -> asyncio.Event:
    """Set by the first of `SIGNALS`, for the running loop; from then on each does what it does by default. What is in
    the log is safe from that, so nobody has to wait until all is finished who does not want to.
    """
    loop, asked = asyncio.get_running_loop(), asyncio.Event()

    def ask() -> None:
        asked.set()
        for number in SIGNALS:
            loop.remove_signal_handler(number)

    for number in SIGNALS:
        loop.add_signal_handler(number, ask)
    return asked
