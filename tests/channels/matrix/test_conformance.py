"""Matrix's room keeps the port's promise, whole."""

import pytest

from angelia.channels.matrix import MatrixSettings, abilities
from angelia.testing.channel_checks import Check, checks
from tests.channels.matrix.network import matrix


@pytest.mark.anyio
@pytest.mark.parametrize("check", checks(abilities(MatrixSettings())), ids=lambda check: check.name)
async def test_matrix(check: Check) -> None:
    await check.run(matrix)
