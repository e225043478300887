"""The commands within a conversation, in one table."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.faces.cli.chat import context_commands, places
from angelia.faces.cli.open_conversation import short
from angelia.faces.words.transcript_lines import Tone, TranscriptLine
from angelia.faces.words.usage_meter import money
from angelia.faces.words.widths import table
from angelia.policy.situation import Mode
from angelia.service.conversation import undo_command
from angelia.service.conversation.session import DAY_MS
from angelia.store.log.transcript import Spending

if TYPE_CHECKING:
    from angelia.faces.cli.chat.app import ChatApp
    from angelia.faces.cli.chat.completion import Completions

Act = Callable[["ChatApp", str], Awaitable[None]]


class ChatCommand(Struct, frozen=True):
    """What it takes, what it does in a few words, and the doing."""

    takes: str
    help: str
    act: Act


def command_in(text: str) -> "Callable[[ChatApp], Awaitable[None]] | None":
    """The command that a text is, if it is one; a path at its beginning is none.

    Raises:
        BadInput: there is no such command.
    """
    name, _, rest = text.rstrip().partition(" ")
    if not name.startswith("/") or "/" in name[1:] or "\n" in name:
        return None
    command = COMMANDS.get(name)
    if command is None:
        if Path(name).exists():
            return None
        raise BadInput(f"There is no command {name}.", then="/help lists them. A space before it makes it a message.")
    return lambda chat: command.act(chat, rest.strip())


def completions(chat: "ChatApp") -> "Completions":
    """What Tab offers in this conversation."""
    from angelia.faces.cli.chat.completion import Completions

    return Completions(
        {name: command.help for name, command in COMMANDS.items()},
        {
            "/mode": lambda: [mode.value for mode in Mode],
            "/sandbox": lambda: [*chat.app.loaded.config.sandbox.presets, "local"],
            "/model": lambda: [f"{vendor}:" for vendor in chat.app.model_catalog.rows],
        },
        frozenset({"/file", "/image", "/export"}),
    )


KEYS = (
    ("Enter", "send; while a turn runs, it is read at the next step"),
    ("Alt-Enter", "a new line; so does a backslash at the end of the line"),
    ("Tab", "complete a command or a path"),
    ("Up, Ctrl-R", "earlier messages, and a search in them"),
    ("Esc, Ctrl-C", "stop the turn; Ctrl-C once more leaves"),
    ("Ctrl-D", "leave; an unfinished turn goes on when you come back"),
    ("dropping a file", "attach it to the next message"),
)


async def _help(chat: "ChatApp", _: str) -> None:
    rows = [(f"{name} {command.takes}".rstrip(), command.help) for name, command in COMMANDS.items()]
    chat.screen.table(table([*rows, ("", ""), *KEYS]))


async def _new(chat: "ChatApp", folder: str) -> None:
    where = Path(folder).expanduser() if folder else places.folder_of(chat.session)
    if not where.is_dir():
        raise BadInput(f"{where} is no folder.", then="Example: /new ~/projects/garden")
    await places.begin(chat, where)


async def _model(chat: "ChatApp", spec: str) -> None:
    if not spec:
        chat.screen.note(f"The model is {chat.spec}. /models lists others.")
        return
    await chat.ready.wait()
    chat.must_rest()
    await chat.use(spec)
    chat.screen.note(f"the model is {spec} from the next message on")


async def _models(chat: "ChatApp", words: str) -> None:
    from angelia.faces.cli.models import listing

    chat.screen.note("asking the servers…")
    chat.screen.table(await listing(chat.app, words, chat.screen.paint.columns - 2))


async def _status(chat: "ChatApp", _: str) -> None:
    session = chat.session
    rows = [
        ("conversation", session.conversation),
        ("folder", session.workspace),
        ("sandbox", places.in_words(session)),
        ("model", chat.spec or "not chosen yet"),
        ("mode", chat.app.mode(session).value),
        ("used", " · ".join(chat.watching.usage_meter.words(chat.profile.window if chat.spec else 0)) or "nothing yet"),
        ("home", str(chat.app.loaded.home)),
    ]
    chat.screen.table(table(rows))


async def _usage(chat: "ChatApp", _: str) -> None:
    transcript, now = chat.app.transcript, chat.app.clock()
    here = await transcript.spent(OWNER, 0, chat.session.conversation)
    today = await transcript.spent(OWNER, now // DAY_MS * DAY_MS)
    chat.screen.table(table([_spent("this conversation", here), _spent("today (UTC), everywhere", today)]))


def _spent(what: str, spent: Spending) -> tuple[str, ...]:
    unknown = f"{spent.unpriced} replies without a known price" if spent.unpriced else ""
    return what, f"{spent.tokens:,} tokens", money(spent.cost) if spent.cost or not unknown else "", unknown


async def _sessions(chat: "ChatApp", _: str) -> None:
    from angelia.faces.cli.history import sessions_table

    rows = await chat.app.transcript.conversations(OWNER, 15)
    lines = sessions_table(rows, chat.screen.paint.columns - 2)
    chat.screen.table([*lines, "/resume ID opens one"] if rows else ["There is no conversation yet."])


async def _resume(chat: "ChatApp", part: str) -> None:
    if not part:
        raise BadInput("Which conversation?", then="/sessions lists them; /resume ID opens one.")
    found = await chat.app.transcript.find(OWNER, part)
    if found == chat.session.conversation:
        raise BadInput("This conversation is open already.")
    chat.must_rest()
    await chat.switch(await chat.app.resume(found, door="terminal"))


async def _mode(chat: "ChatApp", name: str) -> None:
    known = {mode.value: mode for mode in Mode}
    if name not in known:
        now = chat.app.mode(chat.session).value
        raise BadInput(
            f"The mode is {now}." if not name else f"There is no mode {name}.", then="/mode " + "|".join(known)
        )
    chat.app.set_mode(chat.session, known[name])
    chat.screen.note(f"{name}: {_MODES[known[name]]}")


_MODES = {
    Mode.PLAN: "only looks; nothing is changed",
    Mode.ASK: "every write and every command asks",
    Mode.EDIT: "works freely in the folder; what is risky asks",
    Mode.AUTONOMOUS: "works freely in the folder and reads the web; what is risky asks",
}


async def _queue(chat: "ChatApp", text: str) -> None:
    if not text:
        raise BadInput("What should be queued?", then="Example: /queue then run the tests")
    await chat.ready.wait()
    await chat.say(text, e.Arrival.QUEUE)


async def _stop(chat: "ChatApp", _: str) -> None:
    if not await chat.session.stop(OWNER):
        chat.screen.note("no turn is running")


async def _undo(chat: "ChatApp", word: str) -> None:
    said = await undo_command.undo_command(chat.app.undo_services, chat.session, word, by=OWNER)
    chat.screen.table(said.splitlines())


async def _file(chat: "ChatApp", path: str) -> None:
    await chat.attach(_path(path))


async def _image(chat: "ChatApp", path: str) -> None:
    _, original, rest = path.rpartition("--original ")
    await chat.attach(_path(rest.strip()), picture=True, original=bool(original))


def _path(text: str) -> Path:
    if not text:
        raise BadInput("Which file?", then="Example: /file ~/report.pdf; Tab completes.")
    return Path(text.strip("'\"")).expanduser()


async def _receipts(chat: "ChatApp", _: str) -> None:
    from angelia.faces.cli.history import receipts_table

    lines = receipts_table(await chat.app.outbox.receipts(OWNER, chat.session.conversation))
    chat.screen.table(lines or ["Nothing was delivered yet."])


async def _export(chat: "ChatApp", path: str) -> None:
    from angelia.faces.cli.show import as_markdown, write_new

    name = path or f"conversation-{short(chat.session.conversation)}.md"
    target = places.folder_of(chat.session) / Path(name).expanduser()
    write_new(target, as_markdown(chat.session.conversation, chat.session.log.entries).encode())
    chat.screen.note(f"written to {target}")


async def _quit(chat: "ChatApp", _: str) -> None:
    chat.leave()


async def _show(chat: "ChatApp", _: str) -> None:
    from angelia.faces.cli.show import transcript_lines

    for line in transcript_lines(chat.session.log.entries):
        chat.screen.put(line if line.tone is not Tone.STARTED else TranscriptLine(Tone.NOTE, line.text))


COMMANDS: dict[str, ChatCommand] = {
    "/help": ChatCommand("", "this list", _help),
    "/new": ChatCommand("[FOLDER]", "begin a new conversation", _new),
    "/sandbox": ChatCommand(
        "[NAME]", "where it works; a preset or a sandbox: begin a new conversation there", places.sandbox
    ),
    "/model": ChatCommand("[VENDOR:NAME]", "say or change the model", _model),
    "/models": ChatCommand("[WORDS]", "list the models that can be had", _models),
    "/mode": ChatCommand("plan|ask|edit|autonomous", "how freely it works", _mode),
    "/status": ChatCommand("", "conversation, folder, model, mode", _status),
    "/usage": ChatCommand("", "tokens and money, here and today", _usage),
    "/context": ChatCommand("", "what fills the model's window", context_commands.context),
    "/compact": ChatCommand("[WHAT TO KEEP]", "fold older messages to make room", context_commands.compact),
    "/pin": ChatCommand("TEXT", "words that are kept word for word", context_commands.pin),
    "/unpin": ChatCommand("TEXT", "let pinned words be folded again", context_commands.unpin),
    "/file": ChatCommand("PATH", "attach a file to the next message", _file),
    "/image": ChatCommand("[--original] PATH", "attach a picture, as it is or scaled for the model", _image),
    "/queue": ChatCommand("TEXT", "a message that is read after this turn", _queue),
    "/stop": ChatCommand("", "stop the turn", _stop),
    "/undo": ChatCommand(undo_command.TAKES, undo_command.HELP, _undo),
    "/sessions": ChatCommand("", "the last conversations", _sessions),
    "/resume": ChatCommand("ID", "open another conversation", _resume),
    "/show": ChatCommand("", "this conversation from its beginning", _show),
    "/receipts": ChatCommand("", "what was delivered, and what became of it", _receipts),
    "/export": ChatCommand("[FILE]", "write this conversation as Markdown", _export),
    "/quit": ChatCommand("", "leave", _quit),
}
