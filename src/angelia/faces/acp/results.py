"""Results of requests, and our own questions to the person, as they are sent.

Names are those of the protocol's schema, version 1; a field at its default is left out.
"""

from typing import Any

from msgspec import UNSET, Struct

from angelia.faces.acp.outgoing import AcpChanged, AcpOption, AcpPlace, AcpShown, Nothing, Object

# -- results ------------------------------------------------------------------------------------------------


class AcpMode(Object, frozen=True):
    """How freely the agent may work."""

    id: str
    name: str
    description: str


class Modes(Object, frozen=True):
    """The modes there are, and the one that holds."""

    current_mode_id: str
    available_modes: tuple[AcpMode, ...]


class SessionOpened(Object, frozen=True):
    """Result of `session/new`; of `session/load` and `session/resume` without the id."""

    modes: Modes
    config_options: tuple[AcpOption, ...]
    session_id: str | None = None


class OptionSet(Struct, frozen=True, rename="camel"):
    """Result of `session/set_config_option`."""

    config_options: tuple[AcpOption, ...]


class AcpListed(Object, frozen=True):
    """One session of a list."""

    session_id: str
    cwd: str
    title: str | None = None
    updated_at: str | None = None


class Sessions(Struct, frozen=True, rename="camel"):
    """Result of `session/list`."""

    sessions: tuple[AcpListed, ...]
    next_cursor: str | None = None


class Stopped(Object, frozen=True):
    """Result of `session/prompt`."""

    stop_reason: str


# -- initialize ---------------------------------------------------------------------------------------------


class PromptCapabilities(Object, frozen=True):
    """What a prompt may hold."""

    image: bool = False
    audio: bool = False
    embedded_context: bool = False


class SessionCapabilities(Object, frozen=True):
    """Which methods of sessions there are, beside the ones that every agent has."""

    list: Nothing | None = None
    resume: Nothing | None = None
    close: Nothing | None = None
    delete: Nothing | None = None


class AuthCapabilities(Object, frozen=True):
    """Which methods of logging in there are."""

    logout: Nothing | None = None


class McpCapabilities(Object, frozen=True):
    """Which MCP servers can be used beside those that are programs."""

    http: bool = False
    sse: bool = False


class AgentCapabilities(Object, frozen=True):
    """What we can do; what is missing we cannot."""

    load_session: bool = False
    prompt_capabilities: PromptCapabilities = PromptCapabilities()
    mcp_capabilities: McpCapabilities = McpCapabilities()
    session_capabilities: SessionCapabilities = SessionCapabilities()
    auth: AuthCapabilities = AuthCapabilities()


class Login(Object, frozen=True):
    """A way to log in."""

    id: str
    name: str
    description: str


class AgentInfo(Object, frozen=True):
    """Who we are."""

    name: str
    title: str
    version: str


class Initialized(Struct, frozen=True, rename="camel"):
    """Result of `initialize`."""

    protocol_version: int
    agent_capabilities: AgentCapabilities
    auth_methods: tuple[Login, ...]
    agent_info: AgentInfo


# -- questions ----------------------------------------------------------------------------------------------


class PermissionOption(Object, frozen=True):
    """One answer to choose."""

    option_id: str
    name: str
    kind: str


class CallInQuestion(Object, frozen=True):
    """The call that a question is about."""

    tool_call_id: str
    title: str
    kind: str
    content: tuple[AcpShown | AcpChanged, ...]
    locations: tuple[AcpPlace, ...] = ()
    raw_input: Any = UNSET


class RequestPermission(Object, frozen=True):
    """Parameters of `session/request_permission`."""

    session_id: str
    tool_call: CallInQuestion
    options: tuple[PermissionOption, ...]


class Named(Object, frozen=True):
    """A value with its title."""

    const: str
    title: str


class AcpField(Struct, frozen=True, rename="camel", tag_field="type", tag="string", omit_defaults=True):
    """A field of a form, for words or a choice."""

    title: str
    one_of: tuple[Named, ...] = ()


class AcpForm(Struct, frozen=True, tag_field="type", tag="object"):
    """A form."""

    properties: dict[str, AcpField]
    required: tuple[str, ...]


class Elicit(Struct, frozen=True, rename="camel", tag_field="mode", tag="form"):
    """Parameters of `elicitation/create`."""

    session_id: str
    tool_call_id: str
    message: str
    requested_schema: AcpForm


# -- what the client does for us ----------------------------------------------------------------------------


class ReadTextFile(Object, frozen=True):
    """Parameters of `fs/read_text_file`."""

    session_id: str
    path: str


class WriteTextFile(Object, frozen=True):
    """Parameters of `fs/write_text_file`."""

    session_id: str
    path: str
    content: str


class Variable(Object, frozen=True):
    """A variable of the environment."""

    name: str
    value: str


class CreateTerminal(Object, frozen=True):
    """Parameters of `terminal/create`; `output_byte_limit` is how much the client is to keep."""

    session_id: str
    command: str
    args: tuple[str, ...]
    env: tuple[Variable, ...]
    cwd: str
    output_byte_limit: int


class OneTerminal(Object, frozen=True):
    """Parameters of everything else about a terminal."""

    session_id: str
    terminal_id: str
