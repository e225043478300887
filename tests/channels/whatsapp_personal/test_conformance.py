"""The channel for personal numbers meets the claims of the public kit, with a real bridge in a real Node."""

import pytest

from angelia.channels.capabilities import FILES, Kind
from angelia.channels.whatsapp.bridge.capabilities import capabilities
from angelia.testing.channels.checks import ChannelCheck, checks
from tests.channels.whatsapp_personal.network import PersonalNetwork

pytestmark = [pytest.mark.anyio, pytest.mark.real("npm")]

_LIKE_DOCUMENTS = tuple(f"{kind} files and " for kind in FILES if kind is not Kind.DOCUMENT)
"""What becomes of a file in trouble does not depend on its kind here, and each trouble starts Node anew."""


@pytest.mark.soak(every=3)
@pytest.mark.parametrize(
    "check",
    [check for check in checks(capabilities()) if not check.name.startswith(_LIKE_DOCUMENTS)],
    ids=lambda check: check.name,
)
async def test_a_personal_number(check: ChannelCheck) -> None:
    await check.run(PersonalNetwork)
