"""The room for personal numbers meets every claim of the public conformance kit, with a real bridge in a real Node."""

import pytest

from angelia.channels.whatsapp.bridge.table import abilities
from angelia.testing.channel_checks import Check, checks
from tests.channels.whatsapp_personal.network import PersonalNetwork

pytestmark = [pytest.mark.anyio, pytest.mark.real("npm")]


@pytest.mark.parametrize("check", checks(abilities()), ids=lambda check: check.name)
async def test_a_personal_number(check: Check) -> None:
    await check.run(PersonalNetwork)
