"""What the terminal lends to a command, and how it shows what a command comes to."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, assert_never

from angelia.core import entry as e
from angelia.core.counts import counted
from angelia.core.errors import BadInput
from angelia.core.ids import NO_KEY, short
from angelia.core.principal import OWNER
from angelia.core.text import one_line
from angelia.faces.words.call_output import CallOutput, WholeOutput, whole_lines, whole_output
from angelia.faces.words.output import clipboard
from angelia.faces.words.transcript_lines import Tone, TranscriptLine
from angelia.faces.words.widths import table
from angelia.path_queries import is_folder
from angelia.sandboxes.registry import SPECS
from angelia.service.command_port import (
    CommandPlace,
    CommandReply,
    CommandRight,
    CommandServices,
    CommandTable,
    MessageToSend,
    OpenQuestion,
    OtherConversation,
    ShownByDoor,
    TerminalResult,
)
from angelia.service.commands import menu
from angelia.store.log.transcript import Summary

if TYPE_CHECKING:
    from angelia.faces.cli.chat.app import ChatApp
    from angelia.faces.cli.chat.completion import Completions
    from angelia.service.conversation.session import Session
    from angelia.tools.mcp.served import ServedPrompt, ServedResource

_Offered = TypeVar("_Offered")

KEYS = (
    ("Enter", "send; while a turn runs, it is read at the next step"),
    ("Alt-Enter", "a new line; so does a backslash at the end of the line"),
    ("Tab", "complete a command or a path"),
    ("@PATH", "attach a file of the folder, @SERVER:ADDRESS what an MCP server serves; Tab offers them"),
    ("!COMMAND", "run it here yourself; the model reads what it wrote"),
    ("/model, /resume", "alone, a list: letters search it, digits and Enter take from it"),
    ("Up, Ctrl-R", "earlier messages, and a search in them"),
    ("Esc, Ctrl-C", "stop the turn; Ctrl-C clears what is typed first, and twice leaves"),
    ("Alt-Q", "send; it is read after this turn"),
    ("Alt-Up", "take back the newest message that waits to be read, to write it anew"),
    ("Ctrl-O", "the whole of an output that was cut; once more, with search"),
    ("Ctrl-T", "open or fold the plan"),
    ("Ctrl-G", "write the message in your editor"),
    ("Ctrl-D", "leave; an unfinished turn goes on when you come back"),
    ("dropping a file", "attach it to the next message"),
)


class TerminalCommandPort:
    """A conversation at the terminal, for its commands. The next one is begun where the last was asked for."""

    place = CommandPlace.TERMINAL
    address = e.Address("terminal")
    person = OWNER
    arrival = e.Arrival.STEER
    zone = None
    asked = NO_KEY
    keys = (("", ""), *KEYS)

    def __init__(self, chat: "ChatApp") -> None:
        self._chat = chat
        self._sandbox = ""
        self._wanted = ""
        self._printed: CallOutput | None = None

    @property
    def services(self) -> CommandServices:
        """See the port."""
        return self._chat.app.command_services

    @property
    def session(self) -> "Session":
        """See the port."""
        return self._chat.session

    def may(self, _: CommandRight) -> bool:
        """See the port: whoever sits here is the owner."""
        return True

    async def model(self) -> str:
        """See the port."""
        return self._chat.spec

    def offered_models(self) -> str:
        """See the port."""
        return "/models lists others."

    async def change_model(self, spec: str) -> None:
        """See the port."""
        await self._chat.ready.wait()
        self._chat.must_rest()
        await self._chat.use(spec)

    def offered_sandboxes(self) -> list[tuple[str, str]]:
        """See the port."""
        presets = self._chat.app.loaded.config.sandbox.presets
        return [*((name, preset.spec) for name, preset in presets.items()), ("any other", SPECS)]

    async def begin(self, folder: str, sandbox: str) -> "Session":
        """See the port; in the folder that this conversation is about, if none is named."""
        await self._chat.ready.wait()
        where = Path(folder).expanduser() if folder else self._chat.folder
        if not is_folder(where):
            raise BadInput(f"{where} is no folder.", then="Example: /new ~/projects/garden")
        self._chat.must_rest()
        self._wanted = sandbox or self._sandbox
        return self._chat.app.conversations.begin(door="terminal", workspace=where, sandbox=self._wanted)

    async def conversations(self) -> list[Summary]:
        """See the port."""
        return await self._chat.app.transcript.conversations(OWNER, 15)

    async def open(self, part: str) -> "Session":
        """See the port."""
        found = await self._chat.app.transcript.find(OWNER, part)
        if found == self.session.conversation:
            return self.session
        await self._chat.ready.wait()
        self._chat.must_rest()
        self._wanted = self._sandbox
        return await self._chat.app.conversations.resume(found, door="terminal")

    def questions(self) -> list[OpenQuestion]:
        """See the port."""
        return [OpenQuestion(self.session, asked) for asked in self.session.questions()]

    def may_answer(self, _: OpenQuestion) -> bool:
        """See the port."""
        return True

    async def is_shown(self, question: OpenQuestion) -> bool:
        """See the port."""
        return self._chat.watching.is_shown(question.asked)

    async def attach(self, path: Path, *, picture: bool = False, original: bool = False) -> None:
        """See the port."""
        await self._chat.attach(path, picture=picture, original=original)

    async def view(self, number: int) -> None:
        """See the port; printed where there can be no window of its own."""
        whole = await self._whole(self._output(number))
        await self._chat.screen.printed()
        if not await self._chat.input.view(whole):
            self._chat.screen.put(*whole_lines(whole))

    async def print_newest(self) -> None:
        """Print the whole of the newest output; what was printed just so is shown in a window of its own instead."""
        newest = self._output(1)
        if newest is self._printed:
            await self.view(1)
        else:
            self._printed = newest
            self._chat.screen.put(*whole_lines(await self._whole(newest)))

    def _output(self, number: int) -> CallOutput:
        outputs = self._chat.watching.outputs
        if number > len(outputs):
            count = (
                f"{len(outputs)} outputs can be shown whole" if len(outputs) > 1 else "One output can be shown whole"
            )
            count = count if outputs else "No output was cut"
            raise BadInput(f"{count} here, since the conversation was opened.", then="/show tells all of it.")
        return outputs[-number]

    async def _whole(self, output: CallOutput) -> WholeOutput:
        """All that a call wrote, from the store where the model was shown its ends only."""
        full = output.finished.full
        text = (await self.services.blobs.get(full.sha256)).decode(errors="replace") if full else output.text
        return whole_output(output, text)

    def copy(self, number: int) -> str:
        """See the port."""
        from angelia.faces.words.code_blocks import code_blocks

        found = code_blocks(self.session.log.entries)
        if not self._chat.screen.paint.renders:
            raise BadInput("This terminal has no clipboard that a program can write to.", then="/show shows the code.")
        if number > len(found):
            count = f"{counted(len(found), 'block')} of code" if found else "no block of code"
            raise BadInput(f"The replies here have {count}.", then="1 is the newest.")
        code = found[number - 1]
        self._chat.screen.draw(clipboard(code))
        lines = len(code.splitlines())
        copied = f"Copied {lines} {'line' if lines == 1 else 'lines'}, if this terminal lets programs copy"
        return f"{copied}: {one_line(code, 60)}"

    def show_all(self) -> None:
        """See the port."""
        from angelia.faces.cli.show import transcript_lines

        for line in transcript_lines(self.session.log.entries):
            self._chat.screen.put(line if line.tone is not Tone.STARTED else TranscriptLine(Tone.NOTE, line.text))

    def export(self, name: str) -> Path:
        """See the port; in the folder that the conversation is about."""
        from angelia.faces.cli.show import as_markdown, write_new

        session = self.session
        target = self._chat.folder / Path(name or f"conversation-{short(session.conversation)}.md").expanduser()
        write_new(target, as_markdown(session.conversation, session.log.entries).encode())
        return target

    async def talk(self) -> None:
        """See the port."""
        await self._chat.talk()

    def open_window(self) -> None:
        """See the port."""
        self._chat.open_window()

    def leave(self) -> None:
        """See the port."""
        self._chat.leave()

    async def show(self, result: TerminalResult) -> None:
        """Show what a command came to, and do what it says of this door.

        Raises:
            AngeliaError: it cannot be done; nothing was changed.
        """
        chat = self._chat
        match result:
            case CommandReply(text=text, facts=facts, session=session):
                if facts:
                    await (session or chat.session).record(*facts)
                chat.screen.note(text)
            case CommandTable(rows=rows, then=then):
                columns = chat.screen.paint.columns - 2 if chat.screen.paint.renders else 0
                chat.screen.table([*table(rows, columns), *then.splitlines()])
            case OtherConversation(session=session, text=text, says=says):
                await chat.switch(session)
                self._sandbox = self._wanted
                chat.screen.note(text)
                if says:
                    await session.say(says, address=self.address)
            case MessageToSend(words=words, arrival=arrival, forwarded=forwarded):  # the transcript shows it, and when
                await chat.ready.wait()
                await chat.say(words, arrival, forwarded=forwarded)
            case ShownByDoor():
                pass
            case _:
                assert_never(result)


def completions(chat: "ChatApp") -> "Completions":
    """What Tab offers in this conversation."""
    from angelia.faces.cli.chat.completion import Completions
    from angelia.faces.words.mentions import MentionableFiles

    def prompts() -> "Sequence[ServedPrompt]":
        return chat.app.conversations.toolbox(chat.session).servers.known_prompts if chat.ready.is_set() else ()

    def resources() -> "Mapping[str, ServedResource]":
        return chat.app.conversations.toolbox(chat.session).servers.known_resources if chat.ready.is_set() else {}

    files = MentionableFiles(
        lambda: chat.folder, lambda: nullcontext(chat.app.conversations.sandbox_of(chat.session)), resources
    )
    return Completions(
        {f"/{name}": told for name, told in menu(CommandPlace.TERMINAL).items()},
        {name: partial(_once_opened, chat, choices) for name, choices in chat.choices.of_commands().items()},
        frozenset({"/file", "/image", "/export"}),
        partial(_once_opened, chat, files.offered),
        prompts,
    )


async def _once_opened(chat: "ChatApp", offered: Callable[[], Awaitable[_Offered]]) -> _Offered:
    """What is offered, once there is a conversation: who types before that gets it then."""
    await chat.opened.wait()
    return await offered()
