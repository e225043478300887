"""The commands within a conversation, in one table."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.errors import BadInput
from angelia.faces.cli.opening import short
from angelia.faces.cli.talk import places, window
from angelia.faces.cli.talk.tally import money
from angelia.faces.cli.telling import Line, Tone
from angelia.faces.cli.widths import table
from angelia.policy.situation import Mode
from angelia.service.sessions import DAY_MS
from angelia.store.transcript import Spending

if TYPE_CHECKING:
    from angelia.faces.cli.talk.completion import Completions
    from angelia.faces.cli.talk.talk import Talk

Act = Callable[["Talk", str], Awaitable[None]]


class Command(Struct, frozen=True):
    """What it takes, what it does in a few words, and the doing."""

    takes: str
    help: str
    act: Act


def command_in(text: str) -> "Callable[[Talk], Awaitable[None]] | None":
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
    return lambda talk: command.act(talk, rest.strip())


def completions(talk: "Talk") -> "Completions":
    """What Tab offers in this conversation."""
    from angelia.faces.cli.talk.completion import Completions

    return Completions(
        {name: command.help for name, command in COMMANDS.items()},
        {
            "/mode": lambda: [mode.value for mode in Mode],
            "/sandbox": lambda: [*talk.house.loaded.config.sandbox.presets, "local"],
            "/model": lambda: [f"{vendor}:" for vendor in talk.house.seating.rows],
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


async def _help(talk: "Talk", _: str) -> None:
    rows = [(f"{name} {command.takes}".rstrip(), command.help) for name, command in COMMANDS.items()]
    talk.screen.table(table([*rows, ("", ""), *KEYS]))


async def _new(talk: "Talk", folder: str) -> None:
    where = Path(folder).expanduser() if folder else places.folder_of(talk.session)
    if not where.is_dir():
        raise BadInput(f"{where} is no folder.", then="Example: /new ~/projects/garden")
    await places.begin(talk, where)


async def _model(talk: "Talk", spec: str) -> None:
    if not spec:
        talk.screen.note(f"The model is {talk.spec}. /models lists others.")
        return
    await talk.ready.wait()
    talk.must_rest()
    await talk.use(spec)
    talk.screen.note(f"the model is {spec} from the next message on")


async def _models(talk: "Talk", words: str) -> None:
    from angelia.faces.cli.models import listing

    talk.screen.note("asking the servers…")
    talk.screen.table(await listing(talk.house, words, talk.screen.paint.columns - 2))


async def _status(talk: "Talk", _: str) -> None:
    session = talk.session
    rows = [
        ("conversation", session.conversation),
        ("folder", session.workspace),
        ("sandbox", places.in_words(session)),
        ("model", talk.spec or "not chosen yet"),
        ("mode", talk.house.mode(session).value),
        ("used", " · ".join(talk.watching.tally.words(talk.profile.window if talk.spec else 0)) or "nothing yet"),
        ("home", str(talk.house.loaded.home)),
    ]
    talk.screen.table(table(rows))


async def _usage(talk: "Talk", _: str) -> None:
    transcript, now = talk.house.transcript, talk.house.clock()
    here = await transcript.spent(0, talk.session.conversation)
    today = await transcript.spent(now // DAY_MS * DAY_MS)
    talk.screen.table(table([_spent("this conversation", here), _spent("today (UTC), everywhere", today)]))


def _spent(what: str, spent: Spending) -> tuple[str, ...]:
    unknown = f"{spent.unpriced} replies without a known price" if spent.unpriced else ""
    return what, f"{spent.tokens:,} tokens", money(spent.cost) if spent.cost or not unknown else "", unknown


async def _sessions(talk: "Talk", _: str) -> None:
    from angelia.faces.cli.history import sessions_table

    rows = await talk.house.transcript.conversations(15)
    lines = sessions_table(rows, talk.screen.paint.columns - 2)
    talk.screen.table([*lines, "/resume ID opens one"] if rows else ["There is no conversation yet."])


async def _resume(talk: "Talk", part: str) -> None:
    if not part:
        raise BadInput("Which conversation?", then="/sessions lists them; /resume ID opens one.")
    found = await talk.house.transcript.find(part)
    if found == talk.session.conversation:
        raise BadInput("This conversation is open already.")
    talk.must_rest()
    await talk.switch(await talk.house.resume(found, door="terminal"))


async def _mode(talk: "Talk", name: str) -> None:
    known = {mode.value: mode for mode in Mode}
    if name not in known:
        now = talk.house.mode(talk.session).value
        raise BadInput(
            f"The mode is {now}." if not name else f"There is no mode {name}.", then="/mode " + "|".join(known)
        )
    talk.house.set_mode(talk.session, known[name])
    talk.screen.note(f"{name}: {_MODES[known[name]]}")


_MODES = {
    Mode.PLAN: "only looks; nothing is changed",
    Mode.ASK: "every write and every command asks",
    Mode.EDIT: "works freely in the folder; what is risky asks",
    Mode.AUTONOMOUS: "works freely in the folder and reads the web; what is risky asks",
}


async def _queue(talk: "Talk", text: str) -> None:
    if not text:
        raise BadInput("What should be queued?", then="Example: /queue then run the tests")
    await talk.ready.wait()
    await talk.say(text, e.Arrival.QUEUE)


async def _stop(talk: "Talk", _: str) -> None:
    if not await talk.session.stop("you"):
        talk.screen.note("no turn is running")


async def _file(talk: "Talk", path: str) -> None:
    await talk.attach(_path(path))


async def _image(talk: "Talk", path: str) -> None:
    _, original, rest = path.rpartition("--original ")
    await talk.attach(_path(rest.strip()), picture=True, original=bool(original))


def _path(text: str) -> Path:
    if not text:
        raise BadInput("Which file?", then="Example: /file ~/report.pdf; Tab completes.")
    return Path(text.strip("'\"")).expanduser()


async def _receipts(talk: "Talk", _: str) -> None:
    from angelia.faces.cli.history import receipts_table

    lines = receipts_table(await talk.house.outbox.receipts(talk.session.conversation))
    talk.screen.table(lines or ["Nothing was delivered yet."])


async def _export(talk: "Talk", path: str) -> None:
    from angelia.faces.cli.show import as_markdown, write_new

    name = path or f"conversation-{short(talk.session.conversation)}.md"
    target = places.folder_of(talk.session) / Path(name).expanduser()
    write_new(target, as_markdown(talk.session.conversation, talk.session.log.entries).encode())
    talk.screen.note(f"written to {target}")


async def _quit(talk: "Talk", _: str) -> None:
    talk.leave()


async def _show(talk: "Talk", _: str) -> None:
    from angelia.faces.cli.show import transcript_lines

    for line in transcript_lines(talk.session.log.entries):
        talk.screen.put(line if line.tone is not Tone.STARTED else Line(Tone.NOTE, line.text))


COMMANDS: dict[str, Command] = {
    "/help": Command("", "this list", _help),
    "/new": Command("[FOLDER]", "begin a new conversation", _new),
    "/sandbox": Command(
        "[NAME]", "where it works; a preset or a sandbox: begin a new conversation there", places.sandbox
    ),
    "/model": Command("[VENDOR:NAME]", "say or change the model", _model),
    "/models": Command("[WORDS]", "list the models that can be had", _models),
    "/mode": Command("plan|ask|edit|autonomous", "how freely it works", _mode),
    "/status": Command("", "conversation, folder, model, mode", _status),
    "/usage": Command("", "tokens and money, here and today", _usage),
    "/context": Command("", "what fills the model's window", window.context),
    "/compact": Command("[WHAT TO KEEP]", "fold older messages to make room", window.compact),
    "/pin": Command("TEXT", "words that are kept word for word", window.pin),
    "/unpin": Command("TEXT", "let pinned words be folded again", window.unpin),
    "/file": Command("PATH", "attach a file to the next message", _file),
    "/image": Command("[--original] PATH", "attach a picture, as it is or scaled for the model", _image),
    "/queue": Command("TEXT", "a message that is read after this turn", _queue),
    "/stop": Command("", "stop the turn", _stop),
    "/sessions": Command("", "the last conversations", _sessions),
    "/resume": Command("ID", "open another conversation", _resume),
    "/show": Command("", "this conversation from its beginning", _show),
    "/receipts": Command("", "what was delivered, and what became of it", _receipts),
    "/export": Command("[FILE]", "write this conversation as Markdown", _export),
    "/quit": Command("", "leave", _quit),
}
