"""Whether a chat is answered by voice: what its people chose there, else the setting `voice_answers`."""

from collections.abc import Sequence
from enum import StrEnum

from angelia.core.content import Content, Media, MediaKind
from angelia.core.entry import Address, AnswerForm
from angelia.core.errors import BadInput
from angelia.service.settings.config import Config
from angelia.store.tables.key_value import KeyValue


class VoiceMode(StrEnum):
    """Which messages of a chat are answered by voice."""

    OFF = "off"
    REPLIES = "replies"
    """Voice messages."""
    ALWAYS = "always"


MEANINGS = {
    VoiceMode.OFF: "I answer in writing.",
    VoiceMode.REPLIES: "I answer voice messages by voice.",
    VoiceMode.ALWAYS: "I answer everything by voice.",
}


class VoiceAnswers:
    """The voice modes of all chats; where nothing is set that speaks, none is answered by voice."""

    def __init__(self, key_value: KeyValue, config: Config) -> None:
        self._key_value = key_value
        self._usual = VoiceMode(config.voice_answers)
        self._form = AnswerForm.BOTH if config.voice_words else AnswerForm.VOICE
        self.can_speak = bool(config.speaker)

    async def mode(self, chat: Address) -> VoiceMode:
        """How a chat is answered."""
        if not self.can_speak:
            return VoiceMode.OFF
        return VoiceMode(await self._key_value.get(_key(chat), self._usual))

    async def choose(self, chat: Address, word: str) -> VoiceMode:
        """Answer a chat so from the next message on, whichever conversation it is in.

        Raises:
            BadInput: there is no such mode, or nothing is set that speaks.
        """
        modes = ", ".join(VoiceMode)
        if word not in set(VoiceMode):
            raise BadInput(f"“{word}” is no way to answer.", f"There are: {modes}.", "Example: /voice replies")
        mode = VoiceMode(word)
        if not self.can_speak and mode is not VoiceMode.OFF:
            raise BadInput("I have no voice here.", "Nothing is set that speaks.", "Whoever runs me sets `speaker`.")
        await self._key_value.put(_key(chat), mode)
        return mode

    async def form(self, chat: Address, parts: Sequence[Content]) -> AnswerForm:
        """In what a message of these parts is answered."""
        match await self.mode(chat):
            case VoiceMode.ALWAYS:
                return self._form
            case VoiceMode.REPLIES if any(isinstance(one, Media) and one.media is MediaKind.VOICE for one in parts):
                return self._form
            case _:
                return AnswerForm.TEXT


def _key(chat: Address) -> str:
    return f"voice:{chat.door}\n{chat.chat}\n{chat.thread}"
