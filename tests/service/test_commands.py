"""A command is one row for every door: shown or absent with a reason, and the same to the same conversation."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.faces.cli.chat.own_commands import own_command
from angelia.service.command_port import CommandPlace
from angelia.service.commands import (
    COMMANDS,
    CommonCommand,
    ConversationsCommand,
    TerminalCommand,
    chat_command,
    editor_command,
    menu,
    page_command,
    terminal_command,
)
from angelia.testing.channels.recording_channel import FarEnd
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from tests.acp.editor import Editor, first
from tests.chats.town import town
from tests.faces.angelia import serving

pytestmark = pytest.mark.anyio

PARSERS: dict[CommandPlace, Callable[[str], object]] = {
    CommandPlace.TERMINAL: terminal_command,
    CommandPlace.EDITOR: editor_command,
    CommandPlace.CHAT: chat_command,
}
GIVEN = ("/pin Never touch main.", "/unpin touch", "/pin Weights are in kilograms.", "/compact the weights")
FOUND = [
    e.Pinned("Never touch main.", OWNER),
    e.Unpinned("Never touch main.", OWNER),
    e.Pinned("Weights are in kilograms.", OWNER),
    e.CompactionRequested(OWNER, "the weights"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_door_that_does_not_show_a_command_says_why(command: TerminalCommand) -> None:
    able = {
        CommandPlace.TERMINAL: True,
        CommandPlace.EDITOR: isinstance(command, CommonCommand),
        CommandPlace.CHAT: isinstance(command, ConversationsCommand),
    }
    for place, parse in PARSERS.items():
        assert able[place] or place in command.absent, f"{command.name} has no reason not to be in {place.value}"
        for name in (command.name, *command.aliases):
            if why := command.absent.get(place):
                with pytest.raises(BadInput, match="here: ") as told:
                    parse(f"/{name} words")
                assert why in str(told.value)
            else:
                assert parse(f"/{name} words") is not None
        assert (command.name in menu(place)) == (place not in command.absent)


def test_names_are_said_once() -> None:
    names = [name for command in COMMANDS for name in (command.name, *command.aliases)]
    assert len(names) == len(set(names))


def test_a_path_and_what_begins_with_a_space_are_messages_at_a_terminal(tmp_path: Path) -> None:
    assert terminal_command(f"{tmp_path} is mine") is None
    assert terminal_command("/tmp is mine") is None
    assert terminal_command(" /status") is None
    with pytest.raises(BadInput, match="There is no command /nonsense"):
        terminal_command("/nonsense")


@pytest.mark.parametrize(
    ("parse", "typed", "then"),
    [
        (terminal_command, "/sesions", "Did you mean /sessions? /help lists them."),
        (terminal_command, "/veiw 2", "Did you mean /view? /help lists them."),
        (terminal_command, "/nonsense", "/help lists them."),
        (terminal_command, "/", "/help lists them."),
        (own_command, "! ", "A command line behind it is run here, such as !ls."),
        (page_command, "/", "/help lists them."),
        (chat_command, "/", "/help lists them."),
        (chat_command, "/hlep me", "Did you mean /help? /help lists them."),
        (chat_command, "/veiw 2", "/help lists them."),
    ],
)
def test_a_mistyped_or_missing_command_is_answered_with_one_of_this_door_that_is_like_it(
    parse: Callable[[str], object], typed: str, then: str
) -> None:
    with pytest.raises(BadInput) as told:
        parse(typed)
    assert told.value.then.removesuffix(" A space before it makes it a message.") == then


async def at_an_editor(folder: Path) -> list[e.AnyFact]:
    async with ModelServer(lambda _: say("Heard.")) as server, Editor(first(server, folder)) as editor:
        await editor.hello()
        session = await editor.new()
        for words in ("hello", *GIVEN):
            assert await editor.prompt(session, words) == "end_turn"
        return await editor.place.facts()


async def in_a_chat(folder: Path) -> list[e.AnyFact]:
    async with ModelServer(lambda _: say("Heard.")) as server, town(folder, server, FarEnd()) as life:
        for count, words in enumerate(("hello", *GIVEN), 1):
            await life.says(words)
            await life.answered(count)
        return await life.facts()


@pytest.mark.parametrize("door", [at_an_editor, in_a_chat])
async def test_a_command_does_the_same_at_every_door(
    tmp_path: Path, door: Callable[[Path], Awaitable[list[e.AnyFact]]]
) -> None:
    facts = await door(tmp_path)
    assert [fact for fact in facts if isinstance(fact, e.Pinned | e.Unpinned | e.CompactionRequested)] == FOUND


def test_a_command_does_the_same_at_a_terminal(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Heard.")] * 3) as place, place.chat() as terminal:
        terminal.types("hello")
        terminal.sees("Heard.")
        for words, told in zip(GIVEN, ("Pinned", "Not pinned", "Pinned", "folded before"), strict=True):
            terminal.types(words)
            terminal.sees(told)
        kinds = {"Pinned", "Unpinned", "CompactionRequested"}
        assert [fact["kind"] for fact in place.log() if fact["kind"] in kinds] == [type(one).__name__ for one in FOUND]
