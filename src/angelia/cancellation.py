"""Tasks that end when they are cancelled, also where an error takes the place of the cancellation.

What cleans up on its way out may fail: a lease is given back to a store that says that somebody else has it, a
connection is closed that has broken. Python raises that error then instead of the cancellation, and a loop that goes on
after each error would go on for ever, and whoever awaits its end would wait as long.
"""

import asyncio


def end_if_cancelled() -> None:
    """For a loop that may have caught an error, before it goes on.

    Raises:
        asyncio.CancelledError: its task is to end.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
