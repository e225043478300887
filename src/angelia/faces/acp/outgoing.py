"""Updates of a session: what happens in it, as it is sent.

Names are those of the protocol's schema, version 1; a field at its default is left out.
"""

from typing import Any

from msgspec import UNSET, Struct

from angelia.core.content import Media


class Object(Struct, frozen=True, rename="camel", omit_defaults=True):
    """An object of the protocol: its keys are in camel case."""


class Nothing(Object, frozen=True):
    """A result that says only that it is done."""


# -- content ------------------------------------------------------------------------------------------------


class AcpWords(Object, frozen=True, tag_field="type", tag="text"):
    """Text; a client shows it as Markdown."""

    text: str


class Image(Object, frozen=True, tag_field="type", tag="image"):
    """A picture; `data` is base64."""

    data: str
    mime_type: str


class Audio(Object, frozen=True, tag_field="type", tag="audio"):
    """A recording; `data` is base64."""

    data: str
    mime_type: str


class AcpLink(Object, frozen=True, tag_field="type", tag="resource_link"):
    """A file."""

    name: str
    uri: str
    mime_type: str | None = None
    size: int | None = None


class Unopened(Struct, frozen=True):
    """A medium whose bytes are read when it is sent; it never goes out like this.

    `delivery` is the one by which the person is given it: a copy is put where their files are, and a link is sent.
    """

    media: Media
    delivery: str = ""


Content = AcpWords | Image | Audio | AcpLink | Unopened


class AcpShown(Object, frozen=True, tag_field="type", tag="content"):
    """Content of a tool call."""

    content: Content


class AcpChanged(Object, frozen=True, tag_field="type", tag="diff"):
    """A changed file; a new one has no old text."""

    path: str
    new_text: str
    old_text: str | None = None


class InTerminal(Object, frozen=True, tag_field="type", tag="terminal"):
    """A terminal of the client, live."""

    terminal_id: str


Piece = AcpShown | AcpChanged | InTerminal
"""What a tool call shows."""


class AcpPlace(Object, frozen=True):
    """A file that a tool call works on; lines count from 1."""

    path: str
    line: int | None = None


# -- updates ------------------------------------------------------------------------------------------------


class _Update(Object, frozen=True, tag_field="sessionUpdate"):
    """One thing that happened in a session."""


class UserChunk(_Update, frozen=True, tag="user_message_chunk"):
    """Some of a person's message."""

    content: Content
    message_id: str | None = None


class AgentChunk(_Update, frozen=True, tag="agent_message_chunk"):
    """Some of a reply."""

    content: Content
    message_id: str | None = None


class ThoughtChunk(_Update, frozen=True, tag="agent_thought_chunk"):
    """Some thinking, or a note on how it goes."""

    content: Content
    message_id: str | None = None


class CallMade(_Update, frozen=True, tag="tool_call"):
    """The model wants a tool to run."""

    tool_call_id: str
    title: str
    kind: str = "other"
    status: str = "pending"
    content: tuple[Piece, ...] = ()
    locations: tuple[AcpPlace, ...] = ()
    raw_input: Any = UNSET


class CallChanged(_Update, frozen=True, tag="tool_call_update"):
    """How a call goes; `content` replaces what was there."""

    tool_call_id: str
    status: str | None = None
    content: tuple[Piece, ...] | None = None
    locations: tuple[AcpPlace, ...] | None = None
    raw_output: Any = UNSET


class PlanEntry(Object, frozen=True):
    """One step of a plan."""

    content: str
    status: str
    priority: str


class AcpPlan(_Update, frozen=True, tag="plan"):
    """The whole plan as it stands."""

    entries: tuple[PlanEntry, ...]


class CommandInput(Object, frozen=True):
    """What follows a command's name."""

    hint: str


class AcpCommand(Object, frozen=True):
    """A slash command."""

    name: str
    description: str
    input: CommandInput | None = None


class AcpCommands(_Update, frozen=True, tag="available_commands_update"):
    """The slash commands that there are."""

    available_commands: tuple[AcpCommand, ...]


class ModeIs(_Update, frozen=True, tag="current_mode_update"):
    """The mode from here on."""

    current_mode_id: str


class Cost(Object, frozen=True):
    """An amount of money."""

    amount: float
    currency: str


class UsageIs(_Update, frozen=True, tag="usage_update"):
    """Tokens in the window, of how many; and what the session has cost."""

    used: int
    size: int
    cost: Cost | None = None


class InfoIs(_Update, frozen=True, tag="session_info_update"):
    """A session's title, and when it was last used (ISO 8601)."""

    title: str | None = None
    updated_at: str | None = None


class AcpChoice(Object, frozen=True):
    """One value of a setting."""

    value: str
    name: str
    description: str | None = None


class AcpOption(Struct, frozen=True, rename="camel", tag_field="type", tag="select"):
    """A setting of a session."""

    id: str
    name: str
    category: str
    current_value: str
    options: tuple[AcpChoice, ...]
    description: str


class OptionsAre(_Update, frozen=True, tag="config_option_update"):
    """The settings from here on."""

    config_options: tuple[AcpOption, ...]


Update = (
    UserChunk
    | AgentChunk
    | ThoughtChunk
    | CallMade
    | CallChanged
    | AcpPlan
    | AcpCommands
    | ModeIs
    | UsageIs
    | InfoIs
    | OptionsAre
)


class SessionUpdate(Object, frozen=True):
    """Parameters of `session/update`."""

    session_id: str
    update: Update
