"""Ways into the command line for these tests."""

import builtins

from angelia.__main__ import main
from angelia.service.app import App


def chatty() -> None:
    """`angelia`, with something in it that prints to stdout."""
    opened = App.open

    async def opening(*given: object, **more: object) -> App:
        builtins.print("a stray print", flush=True)
        return await opened(*given, **more)  # type: ignore[arg-type]  # passed on as they came

    App.open = opening  # type: ignore[method-assign]  # a stray print is the point
    main()
