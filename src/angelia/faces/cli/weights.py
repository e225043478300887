"""Getting weights with a person looking: how much there is, how fast it comes, when it will be done."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from angelia.context.prompt.facts import PromptFacts
from angelia.context.prompt.system_prompt import SMALL, system_prompt
from angelia.context.request import ModelRequest, RequestMessage, Role
from angelia.core.content import Text
from angelia.core.errors import BadInput
from angelia.models.local.download import get_weights
from angelia.models.local.runtime import installed, load_runtime
from angelia.models.local.weights import WEIGHTS, Weights, to_be_got
from angelia.service.app import App
from angelia.service.files.transfers import Told

_EVERY = 2.0
"""Seconds between two lines."""


def known_weights(name: str) -> Weights:
    """The weights of that name.

    Raises:
        BadInput: there are none of it.
    """
    name = name.removeprefix("local:")
    if name in WEIGHTS:
        return WEIGHTS[name]
    raise BadInput(
        f"No weights are known as {name}.",
        f"Known are {', '.join(WEIGHTS)}.",
        "A file of your own needs no getting: --model local:/path/to/weights.gguf",
    )


async def fetched(weights: Weights, folder: Path, told: Told) -> Path:
    """The file, got if need be; `told` hears what has come.

    Raises:
        BadInput, DownloadFailed: see `get_weights`.
        MissingLibrary: what would run them cannot be loaded here.
    """
    if installed():
        await asyncio.to_thread(load_runtime)  # before a gigabyte is fetched for nothing
    return await get_weights(weights, folder, lambda have: told(have, weights.size))


async def read_ahead(app: App, spec: str) -> None:
    """Have an embedded model read how every prompt of its begins: once, for half a minute on a slow machine. Else the
    person would wait for it behind their first question.

    Raises:
        ModelError: the weights cannot be loaded.
    """
    window, standing = app.model_catalog.profile(spec).window, app.loaded.config.context.instructions
    system = system_prompt(PromptFacts("", "", "", "", standing=standing), window, SMALL).text
    bound = await app.model_catalog.bound(spec, system, ())
    hello = RequestMessage(1, Role.USER, (Text("Hello"),))
    request = ModelRequest(bound.profile, bound.system, (), (hello,), generation=0, max_output=1)
    async for _ in bound.session.ask(request, bound.credentials[0]):
        pass


async def offered(spec: str, folder: Path, ask: Callable[[str], Awaitable[bool]], say: Callable[[str], None]) -> None:
    """Get what an embedded model needs and this machine has not, if the person wants that.

    Raises:
        BadInput, DownloadFailed, MissingLibrary: see `fetched`.
    """
    weights = to_be_got(spec, folder)
    if weights and await ask(f"{weights.title} is not here yet: {weights.size / 1e6:,.0f} MB. Get it now?"):
        await fetched(weights, folder, in_lines(say))


def in_lines(say: Callable[[str], None]) -> Told:
    """Tells in a line every two seconds, where a bar cannot be drawn."""
    began = said = time.monotonic()
    first = -1

    def told(have: int, size: int) -> None:
        nonlocal said, first
        now = time.monotonic()
        first = have if first < 0 else first
        if now - said < _EVERY:
            return
        said = now
        speed = (have - first) / (now - began)
        left = f", {(size - have) / speed:,.0f} s left" if speed else ""
        say(f"{have / 1e6:,.0f} of {size / 1e6:,.0f} MB, {speed / 1e6:,.0f} MB/s{left}")

    return told
