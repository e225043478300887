"""The toolset of the web: `fetch`, with headers for whoever keeps secrets for sites."""

from collections.abc import Sequence

from angelia.tools.page_access import SecretsAccess
from angelia.tools.port import ConversationContext, Tool
from angelia.tools.standalone import Standalone
from angelia.tools.web.fetch import Fetch, FetchWithSecrets
from angelia.tools.web.secret_headers import SecretHeaders


class WebTools(Standalone):
    """See `tools.port.Toolset`."""

    def __init__(self) -> None:
        super().__init__("web", Fetch())
        self._access: SecretsAccess | None = None
        self._keeping: FetchWithSecrets | None = None
        self._kept = False

    async def open(self, conversation: ConversationContext) -> None:
        """Whose secrets it may use."""
        self._access = conversation.secrets
        if conversation.secrets is not None:
            self._keeping = FetchWithSecrets(SecretHeaders(conversation.secrets))

    async def ready(self) -> None:
        """See whether there are any now."""
        self._kept = self._access is not None and bool(self._access.sites())

    def tools(self) -> Sequence[Tool]:
        """See `Toolset`."""
        return (self._keeping,) if self._keeping is not None and self._kept else super().tools()
