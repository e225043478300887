"""An answer that the database could not take is stored by whoever comes next: it is paid once."""

import signal
from pathlib import Path

import pytest

from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, say
from tests.nursery import LivingChild, Nursery
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio


async def test_though_the_process_ends_that_was_given_it(tmp_path: Path) -> None:
    (life := tmp_path / "life").mkdir()
    asking: list[LivingChild] = []

    def answer(_: ReceivedRequest) -> Step:
        asking[0].kill(signal.SIGUSR1)  # from now on there is no room
        return say("Here.")

    async with ModelServer(answer) as server, Nursery() as nursery:
        place = Place(tmp_path, server)
        entry = "tests.promise.doors:on_a_disk_that_fills_up"
        asking.append(await nursery.bear(place.argv("Hello?"), place.env, life, entry=entry))
        ended = await asking[0].ended()
        assert ended.status != 0
        assert "may not grow beyond" in ended.stderr
        again = await place.ask("--continue")
        assert (again.status, again.stdout) == (0, "Here.\n")
        assert len(server.requests) == 1
        assert await place.problems() == []
