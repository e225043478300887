"""TERM and Ctrl-C, for what runs until it is told to end: the first one asks for an end, a second one is one."""

import asyncio
import signal

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def asked_to_end() -> asyncio.Event:
    """Set by the first of `SIGNALS`, for the running loop; from then on each ends the process, as it ends any that does
    not heed it, whatever is cleaned up by then. What is in the log is safe from that, so nobody has to wait until all
    is finished who does not want to.
    """
    loop, asked = asyncio.get_running_loop(), asyncio.Event()

    def ask() -> None:
        asked.set()
        for number in SIGNALS:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)  # Python's own for Ctrl-C would clean up once more

    for number in SIGNALS:
        loop.add_signal_handler(number, ask)
    return asked
