"""What is linked has one connection: a command that needs it has it alone, or says who has it."""

from contextlib import closing
from pathlib import Path

import pytest

from angelia.core.errors import BadInput
from angelia.service.chats.gateway import alone_in
from angelia.service.chats.sole_connection import sole_connection
from angelia.store.log.holdings import Holdings
from angelia.store.sql.database import Database
from angelia.store.tables.machines import channel_part

pytestmark = pytest.mark.anyio


async def test_another_machine_of_the_log_that_serves_the_channel_is_left_alone(tmp_path: Path) -> None:
    for name in ("log", "here"):
        (tmp_path / name).mkdir()
    with closing(Database.open(tmp_path / "log")) as there, closing(Database.open(tmp_path / "log")) as here:
        holdings = Holdings(there)
        await holdings.take(channel_part("whatsapp"), "Ann's machine")
        with pytest.raises(BadInput, match="Ann's machine serves whatsapp now"):
            async with sole_connection(here, tmp_path / "here", "whatsapp"):
                pytest.fail("two are connected")
        await holdings.release(channel_part("whatsapp"))
        async with sole_connection(here, tmp_path / "here", "whatsapp"):
            with pytest.raises(BadInput, match="runs already"):
                alone_in(tmp_path / "here")
            with pytest.raises(BadInput, match="serves whatsapp now"):
                async with sole_connection(there, tmp_path / "log", "whatsapp"):
                    pytest.fail("two are connected")
        await holdings.take(channel_part("whatsapp"), "Ann's machine")
