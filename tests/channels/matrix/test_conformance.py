"""Matrix's channel keeps the port's promise, whole."""

import pytest

from angelia.channels.matrix.capabilities import capabilities
from angelia.channels.matrix.settings import MatrixSettings
from angelia.testing.channels.checks import ChannelCheck, checks
from tests.channels.matrix.network import matrix


@pytest.mark.soak(every=2)
@pytest.mark.anyio
@pytest.mark.parametrize("check", checks(capabilities(MatrixSettings())), ids=lambda check: check.name)
async def test_matrix(check: ChannelCheck) -> None:
    await check.run(matrix)
