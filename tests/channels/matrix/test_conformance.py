"""Matrix's room keeps the port's promise, whole."""

import pytest

from angelia.channels.matrix import MatrixSettings, capabilities
from angelia.testing.channels.checks import ChannelCheck, checks
from tests.channels.matrix.network import matrix


@pytest.mark.anyio
@pytest.mark.parametrize("check", checks(capabilities(MatrixSettings())), ids=lambda check: check.name)
async def test_matrix(check: ChannelCheck) -> None:
    await check.run(matrix)
