"""What programs of the Python door work with: a home, a folder, and a scripted model."""

import os
import sys
from pathlib import Path
from typing import Any

from msgspec import Struct

from angelia import Agent
from angelia.core import entry as e
from angelia.core.ids import ConversationId
from angelia.service.settings.config import load
from angelia.service.stored_home import StoredHome

MODEL = "openai-chat:scripted"


class Program(Struct, frozen=True):
    """Where a program works."""

    home: Path
    work: Path

    def agent(self, **more: Any) -> Agent:
        """An agent that asks the scripted model, whose address is in the environment."""
        return Agent(**self.arguments(**more))

    def arguments(self, **more: Any) -> dict[str, Any]:
        """What an agent is made with."""
        return {"model": MODEL, "workspace": self.work, "home": self.home, **more}

    def environment(self, url: str) -> dict[str, str]:
        """That of a program in a process of its own, whose model is at `url`."""
        return {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self.home.parent),
            "ANGELIA_HOME": str(self.home),
            "ANGELIA_MODEL": MODEL,
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": url,
        }

    async def facts(self, conversation: str) -> list[e.AnyFact]:
        """The log of a conversation, as it is stored."""
        home = StoredHome.open(load(self.home, {}))
        try:
            return [entry.fact for entry in await home.transcript.entries(ConversationId(conversation))]
        finally:
            home.db.close()
