"""A picture with each step: what requests carry of old ones stays small, and what stands before moves seldom."""

from pathlib import Path

import pytest

from angelia.context.budget import shown_size
from angelia.context.request import ModelRequest, Result, Shown
from angelia.core import entry as e
from angelia.core.content import Media, MediaKind, Text
from angelia.core.profile import Ability, Profile
from angelia.testing.model.steps import Step, call, say
from angelia.tools.port import ToolContext, ToolOutcome
from tests.engine.driven import Driven, Probe, Words, World, driven

pytestmark = pytest.mark.anyio

STEPS, LIMIT = 30, 4_000_000
EYES = Profile("scripted:m", "scripted", "m", "scripted", images=Ability.YES)


SIZE = 640_000
"""Bytes of a screenshot of a page."""


def step(request: ModelRequest) -> Step:
    """Looks again and again, and then answers."""
    seen = sum(isinstance(part, Result) for message in request.messages for part in message.parts)
    return say("Seen.") if seen == STEPS else call("look", {"text": str(seen)})


def pictures(request: ModelRequest) -> list[Shown]:
    """Those that a request carries, oldest first."""
    results = [part for message in request.messages for part in message.parts if isinstance(part, Result)]
    return [part for result in results for part in result.parts if isinstance(part, Shown)]


async def one_turn(folder: Path) -> Driven:
    async def looked(arguments: Words, context: ToolContext) -> ToolOutcome:
        blob = await one.blobs.put(f"{arguments.text:>{SIZE}}".encode(), mime="image/png")
        name = f"{arguments.text}.png"
        return ToolOutcome((Text(f"page {arguments.text}"), Media(blob, MediaKind.IMAGE, name, 1280, 800)))

    async with driven(folder, [step] * (STEPS + 1), World(tools=(Probe("look", looked),))) as one:
        one.profile = EYES
        await one.say("Look around.")
        await one.drive()
        return one


async def test_a_request_carries_four_megabytes_of_old_pictures_at_most(tmp_path: Path) -> None:
    one = await one_turn(tmp_path)
    assert one.told[-1][2] == "Seen."
    assert len(one.provider.requests) == STEPS + 1
    for number, request in enumerate(one.provider.requests):
        carried = [shown_size(shown, EYES).bytes for shown in pictures(request)]
        assert sum(carried[:-2]) <= LIMIT
        newest = [shown.media.name for shown in pictures(request)[-2:]]
        assert newest == [f"{n}.png" for n in range(max(number - 2, 0), number)]
    lines = [
        part.text
        for message in one.provider.requests[-1].messages
        for result in message.parts
        if isinstance(result, Result)
        for part in result.parts
        if isinstance(part, Text) and "look_again" in part.text
    ]
    assert len(lines) == STEPS - len(pictures(one.provider.requests[-1]))


async def test_the_prefix_moves_once_for_four_megabytes(tmp_path: Path) -> None:
    one = await one_turn(tmp_path)
    moves = one.facts(e.ViewMoved)
    assert 0 < len(moves) <= STEPS * SIZE * 4 // 3 // LIMIT + 1
    assert {move.reason for move in moves} == {"older media"}
    changed = sum(
        before.messages != after.messages[: len(before.messages)]
        for before, after in zip(one.provider.requests, one.provider.requests[1:], strict=False)
    )
    assert changed == len(moves)
