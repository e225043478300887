"""A provider is found by its wire, a third-party one by entry point, and a missing one is explained."""

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from angelia.core.errors import ConfigError
from angelia.core.profile import Profile
from angelia.http.server import HttpServer
from angelia.models import registry
from angelia.models.context import ProviderContext
from angelia.models.registry import open_provider
from angelia.models.wires.wire import HttpProvider
from tests.models.shapes import MODELS, open_media


async def nowhere() -> HttpServer:
    """A server that nobody asks."""
    raise AssertionError("nothing is sent when a provider is opened")


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_each_wire_has_its_provider(model: Profile) -> None:
    assert isinstance(open_provider(model, ProviderContext(open_media, nowhere)), HttpProvider)


def test_a_third_party_provider_is_opened_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    other = EntryPoint("telepathy", "angelia.models.wires.openai_chat:open_provider", registry.GROUP)

    def installed(*, group: str, name: str) -> EntryPoints:
        return EntryPoints([other]).select(group=group, name=name)

    monkeypatch.setattr("importlib.metadata.entry_points", installed)
    assert isinstance(
        open_provider(Profile("v:m", "v", "m", "telepathy"), ProviderContext(open_media, nowhere)),
        HttpProvider,
    )
    with pytest.raises(ConfigError, match="smoke signals"):
        open_provider(Profile("v:m", "v", "m", "smoke signals"), ProviderContext(open_media))
