"""The commands of a conversation, one table for every door.

Each acts at once, whatever the turn is doing. What a door does not show says here why (`absent`).
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from typing import TypeVar

from msgspec import Struct

from angelia.core.errors import BadInput
from angelia.path_queries import exists
from angelia.service import command_acts as acts
from angelia.service.command_port import (
    CommandPlace,
    CommandPort,
    CommandReply,
    CommandResult,
    CommandRight,
    CommandTable,
    CommonResult,
    ConversationsPort,
    OpeningPort,
    TerminalPort,
    TerminalResult,
)
from angelia.service.notes import note_acts

_PROMPT = re.compile(r"/([\w.-]+:[\w.-][\w./:-]*)(?:\s+(.*))?", re.DOTALL)
"""A prompt of an MCP server, by the server's name and its own."""

_COMMAND = re.compile(r"/([A-Za-z]+)(?:@\w+)?(?:\s+(.*))?", re.DOTALL)

Port = TypeVar("Port", bound=CommandPort)
Result = TypeVar("Result")


class TerminalCommand(Struct, frozen=True):
    """A command that a terminal can do, as it can all of them. `takes` follows its name, in some doors
    another `takes_in`; `help` is what it does.

    `who` may give it, and `who_with` may give it with words after it. `absent` are the doors that do not show it,
    each with the reason.
    """

    name: str
    takes: str
    help: str
    act: Callable[[TerminalPort, str], Awaitable[TerminalResult]]
    aliases: tuple[str, ...] = ()
    who: CommandRight = CommandRight.EVERYBODY
    who_with: CommandRight = CommandRight.EVERYBODY
    absent: Mapping[CommandPlace, str] = {}
    takes_in: Mapping[CommandPlace, str] = {}


class ConversationsCommand(TerminalCommand, frozen=True):
    """One that any door can do in which one goes from conversation to conversation."""

    act: Callable[[ConversationsPort, str], Awaitable[CommandResult]]


class OpeningCommand(ConversationsCommand, frozen=True):
    """One that any door can do which can open another conversation."""

    act: Callable[[OpeningPort, str], Awaitable[CommandResult]]


class CommonCommand(OpeningCommand, frozen=True):
    """One that every door can do."""

    act: Callable[[CommandPort, str], Awaitable[CommonResult]]


# -- which command a text gives ---------------------------------------------------------------------------------------


def terminal_command(text: str) -> Callable[[TerminalPort], Awaitable[TerminalResult]] | None:
    """The command that a text gives at a terminal, ready to be run; None for a message.

    Raises:
        BadInput: there is no such command.
    """
    found = _found(text, CommandPlace.TERMINAL)
    return partial(_run, found[0].act, *found) if found else None


def chat_command(text: str) -> Callable[[ConversationsPort], Awaitable[CommandResult]] | None:
    """The same in a chat; what looks like a path is no message there, but a command that there is not."""
    found = _found(text, CommandPlace.CHAT)
    if found is None:
        return None
    assert isinstance(found[0], ConversationsCommand)
    return partial(_run, found[0].act, *found)


def editor_command(text: str) -> Callable[[CommandPort], Awaitable[CommonResult]] | None:
    """The same in an editor, which has a menu of them: any other word after a slash is a message."""
    found = _found(text, CommandPlace.EDITOR)
    if found is None:
        return None
    assert isinstance(found[0], CommonCommand)
    return partial(_run, found[0].act, *found)


def page_command(text: str) -> Callable[[OpeningPort], Awaitable[CommandResult]] | None:
    """The same on the page; what looks like a path is no message there, but a command that there is not."""
    found = _found(text, CommandPlace.PAGE)
    if found is None:
        return None
    assert isinstance(found[0], OpeningCommand)
    return partial(_run, found[0].act, *found)


_UNSENT = "Nothing was sent to the model."


def _found(text: str, place: CommandPlace) -> tuple[TerminalCommand, str] | None:
    if chosen := _PROMPT.fullmatch(text.rstrip()):
        return _BY_NAME["prompts"], f"{chosen[1]} {chosen[2] or ''}".strip()
    as_message = " A space before it makes it a message." if place is CommandPlace.TERMINAL else ""
    if text.rstrip() == "/" and place is not CommandPlace.EDITOR:
        raise BadInput("A slash alone is no command.", _UNSENT, f"/help lists them.{as_message}")
    match = _COMMAND.fullmatch(text.rstrip())
    if match is None:
        return None
    name, words = match[1].lower(), (match[2] or "").strip()
    command = _BY_NAME.get(name)
    if command is None:
        if place is CommandPlace.EDITOR or (place is CommandPlace.TERMINAL and exists(f"/{match[1]}")):
            return None
        then = f"{_meant(name, place)}/help lists them.{as_message}"
        raise BadInput(f"There is no command /{name}.", _UNSENT, then)
    if why := command.absent.get(place):
        raise BadInput(f"There is no /{command.name} here: {why}.")
    return command, words


def _meant(name: str, place: CommandPlace) -> str:
    """The command of this door that is like a mistyped name; empty if none is."""
    found = get_close_matches(name, menu(place), 1, 0.75)
    return f"Did you mean /{found[0]}? " if found else ""


async def _run(
    act: Callable[[Port, str], Awaitable[Result]], command: TerminalCommand, words: str, port: Port
) -> Result:
    """Run a command, if whoever gives it may.

    Raises:
        BadInput: they may not, or something is missing or wrong in it.
        AngeliaError: it cannot be done; says why.
    """
    for right in (command.who, *((command.who_with,) if words else ())):
        if not port.may(right):
            raise BadInput(_REFUSED[right])
    return await act(port, words)


_REFUSED = {
    CommandRight.IN_CHARGE: "This conversation is everybody's here, so only an admin or the owner changes that. "
    "In private you have your own.",
    CommandRight.TURN: "The running turn is not yours to stop: an admin or the owner can, and whoever it answers.",
    CommandRight.OWN: "Only the owner, or whose conversation it is, does that.",
    CommandRight.OWNER: "Only the owner does that.",
    CommandRight.LETS_IN: "Only an admin or the owner lets others in.",
}


def shown_at(place: CommandPlace) -> Iterator[TerminalCommand]:
    """The commands that a door shows, in the order in which they are listed."""
    return (command for command in COMMANDS if place not in command.absent)


def menu(place: CommandPlace) -> dict[str, str]:
    """Names and what each does, for a menu."""
    return {command.name: command.help for command in shown_at(place)}


def usage(command: TerminalCommand, place: CommandPlace) -> str:
    """How a command is typed.

    >>> [usage(COMMANDS[1], place) for place in (CommandPlace.TERMINAL, CommandPlace.CHAT)]
    ['/new [FOLDER]', '/new']
    """
    return f"/{command.name} {command.takes_in.get(place, command.takes)}".rstrip()


async def _help(port: CommandPort, _: str) -> CommandTable:
    listed = [(usage(command, port.place), command.help) for command in shown_at(port.place)]
    return CommandTable((*listed, *port.keys))


async def _start(_: ConversationsPort, __: str) -> CommandReply:
    return CommandReply(GREETING)


# -- the table ----------------------------------------------------------------------------------------------------

_EDITOR, _CHAT, _PAGE = CommandPlace.EDITOR, CommandPlace.CHAT, CommandPlace.PAGE
_IN_CHARGE = CommandRight.IN_CHARGE
_OWNER = CommandRight.OWNER
_OWN_SESSIONS = {
    _EDITOR: "an editor begins and opens its sessions itself",
    _PAGE: "the list beside it begins and opens conversations",
}
_FILES_COME = {
    _EDITOR: "an editor attaches files to a prompt itself",
    _CHAT: "a file that is sent to a chat is attached already",
    _PAGE: "a file is dropped or pasted into a message",
}

_NOT_BETWEEN_PROMPTS = {
    _EDITOR: "an editor shows nothing between two prompts; `angelia schedule` does it",
    _PAGE: "ask for it in words, or by `angelia schedule`",
}

_BEGUN = "the conversation has begun already"

GREETING = (
    "Hello, I am Angelia. Write, or send a picture, a file or a voice message: I answer here, and what you send is "
    "kept. /help lists what else there is; /stop ends what I am doing, /new begins a new conversation."
)
"""The first words in a chat, for whoever opened it by the button that networks show there."""

COMMANDS: tuple[TerminalCommand, ...] = (
    CommonCommand("help", "", "this list", _help),
    ConversationsCommand(
        "new",
        "[FOLDER]",
        "begin a new conversation",
        acts.new,
        who=_IN_CHARGE,
        absent=_OWN_SESSIONS,
        takes_in={_CHAT: ""},
    ),
    ConversationsCommand(
        "sandbox",
        "[NAME]",
        "say where it works, or begin a new conversation elsewhere",
        acts.sandbox,
        who_with=_IN_CHARGE,
        absent={
            _EDITOR: "it is a setting of the editor's session",
            _PAGE: "it is chosen when a conversation is begun",
        },
    ),
    CommonCommand("model", "[NAME]", "say or change the model", acts.model, who_with=_IN_CHARGE),
    CommonCommand(
        "models",
        "[WORDS]",
        "list the models that can be had",
        acts.models,
        absent={_CHAT: "a channel offers the models of its settings, and /model lists them"},
    ),
    CommonCommand(
        "mode",
        "[plan|ask|edit|autonomous]",
        "say or change how freely it works",
        acts.mode,
        absent={
            _CHAT: "a mode lasts as long as the program, and a gateway starts anew without being seen; set policy.mode"
        },
    ),
    ConversationsCommand(
        "voice",
        "[off|replies|always]",
        "say or change what is answered by voice here",
        acts.voice,
        who_with=_IN_CHARGE,
        absent={
            CommandPlace.TERMINAL: "it is for chats; /talk speaks and listens here",
            _EDITOR: "an editor plays no sound",
            _PAGE: "the page speaks no answers yet",
        },
    ),
    CommonCommand("status", "", "what is going on here: conversation, folder, model, mode", acts.status),
    CommonCommand("usage", "", "tokens and money, here and today", acts.usage),
    CommonCommand("context", "", "what fills the model's window", acts.context),
    CommonCommand("compact", "[WHAT TO KEEP]", "fold older messages to make room", acts.compact, who=_IN_CHARGE),
    CommonCommand("pin", "TEXT", "words that are kept word for word", acts.pin, who=_IN_CHARGE),
    CommonCommand("unpin", "TEXT", "let pinned words be folded again", acts.unpin, who=_IN_CHARGE),
    TerminalCommand("file", "PATH", "attach a file to the next message", acts.file, absent=_FILES_COME),
    TerminalCommand(
        "image",
        "[--original] PATH",
        "attach a picture, as it is or scaled for the model",
        acts.image,
        absent=_FILES_COME,
    ),
    CommonCommand("queue", "TEXT", "a message that is read after this turn", acts.queue),
    CommonCommand("steer", "TEXT", "a message that is read at the next step", acts.steer),
    CommonCommand("stop", "", "end the running turn", acts.stop, who=CommandRight.TURN),
    CommonCommand(
        "undo",
        "[TURN|back|yes|list]",
        "show what taking back a turn's changes of files would do; yes does it",
        acts.undo,
        who=CommandRight.OWN,
    ),
    CommonCommand(
        "notes",
        "[show|keep N]",
        "what is remembered that counts here; show says why",
        note_acts.notes,
        who=CommandRight.OWN,
    ),
    CommonCommand("forget", "N", "drop a note; /notes keep N brings it back", note_acts.forget, who=CommandRight.OWN),
    CommonCommand(
        "skills", "", "the skills where this conversation works, and how you stand to each", acts.skills, who=_OWNER
    ),
    CommonCommand(
        "prompts",
        "[SERVER:PROMPT WORDS]",
        "prompts of MCP servers; /SERVER:PROMPT sends one",
        acts.prompts,
        who=_OWNER,
    ),
    CommonCommand("approve", "[CODE] [ANSWER]", "say yes to what is asked of you, or answer it", acts.approve),
    CommonCommand("deny", "[CODE] [WHAT INSTEAD]", "say no to what is asked of you", acts.deny),
    CommonCommand(
        "admit",
        "CODE [member|guest]",
        "let in whoever was told this code; as a guest, unless you say member",
        acts.admit,
        who=CommandRight.LETS_IN,
    ),
    ConversationsCommand("sessions", "", "the last conversations", acts.sessions, absent=_OWN_SESSIONS),
    ConversationsCommand(
        "resume",
        "[ID]",
        "go on with another conversation here",
        acts.resume,
        who=_IN_CHARGE,
        absent=_OWN_SESSIONS,
        takes_in={_CHAT: "ID"},
    ),
    OpeningCommand(
        "fork",
        "[ENTRY]",
        "go on in a conversation with the same past, and leave this one as it is",
        acts.fork,
        absent={
            _EDITOR: "an editor begins its sessions itself",
            _CHAT: "a chat goes on with one conversation at a time",
        },
    ),
    OpeningCommand(
        "edit",
        "[N OTHER WORDS]",
        "say an earlier message of yours otherwise, in a fork; alone, it lists them",
        acts.edit,
        absent={
            _EDITOR: "an editor begins its sessions itself",
            _CHAT: "a chat goes on with one conversation at a time",
        },
    ),
    TerminalCommand(
        "show",
        "",
        "this conversation from its beginning",
        acts.show,
        absent={
            _EDITOR: "an editor shows a session whole when it loads it",
            _CHAT: "the chat itself is the conversation, from its beginning",
            _PAGE: "the page shows it from its beginning",
        },
    ),
    TerminalCommand(
        "view",
        "[N]",
        "the whole output of a call, with search; 1 is the newest",
        acts.view,
        absent={
            _EDITOR: "an editor shows the whole output of a call itself",
            _CHAT: "a chat shows no output of calls; ask for it, and it is sent",
            _PAGE: "a call opens when it is clicked",
        },
    ),
    TerminalCommand(
        "copy",
        "[N]",
        "copy a block of code exactly; 1 is the newest",
        acts.copy,
        absent={
            _EDITOR: "an editor copies by itself",
            _CHAT: "a chat copies by itself",
            _PAGE: "each block of code has a button for it",
        },
    ),
    TerminalCommand(
        "talk",
        "",
        "speak instead of typing, and hear the answers",
        acts.talk,
        absent={
            _EDITOR: "an editor has no microphone",
            _CHAT: "send a voice message; /voice says which messages are answered by voice",
            _PAGE: "it listens at a terminal",
        },
    ),
    TerminalCommand(
        "window",
        "",
        "the page that is handed over to you, in its window once more",
        acts.window,
        absent={
            _EDITOR: "an editor shows the question alone; answer it there",
            _CHAT: "a chat shows the page's picture with the question",
            _PAGE: "*Act in the page* beside the question shows the page live",
        },
    ),
    ConversationsCommand(
        "remind",
        "WHEN WHAT",
        "be reminded here: /remind 18:00 call Ann",
        acts.remind,
        who=CommandRight.OWNER,
        absent=_NOT_BETWEEN_PROMPTS,
    ),
    ConversationsCommand(
        "schedule",
        "[WHEN WHAT|remove ID]",
        "what is done at which times, or one more: /schedule weekdays at 8 sum up the news",
        acts.schedule,
        who=CommandRight.OWNER,
        absent=_NOT_BETWEEN_PROMPTS,
    ),
    CommonCommand("tree", "", "helpers: who works on what, since when, for how much", acts.tree),
    CommonCommand("receipts", "", "what was delivered, and what became of it", acts.receipts),
    TerminalCommand(
        "export",
        "[FILE]",
        "write this conversation as Markdown",
        acts.export,
        absent={
            _EDITOR: "`angelia export` writes it, at the editor's own terminal",
            _CHAT: "it writes to a disk that whoever writes here need not have; `angelia export` does it there",
            _PAGE: "`angelia export` writes it, where Angelia runs",
        },
    ),
    TerminalCommand(
        "quit",
        "",
        "leave",
        acts.leave,
        aliases=("exit",),
        absent={
            _EDITOR: "an editor closes its sessions itself",
            _CHAT: "there is nothing to leave in a chat",
            _PAGE: "closing the page leaves it",
        },
    ),
    ConversationsCommand(
        "start",
        "",
        "say hello",
        _start,
        absent={CommandPlace.TERMINAL: _BEGUN, _EDITOR: _BEGUN, _PAGE: _BEGUN},
    ),
)

_BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}
