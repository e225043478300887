"""`angelia ask`: one turn; the answer on stdout, everything else on stderr."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from angelia.context.media_lines import without_files
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.codec import to_json_line
from angelia.core.content import Content, Text, ToolCall
from angelia.core.errors import AngeliaError, BadInput, ConfigError, OutputLost
from angelia.core.principal import OWNER
from angelia.core.sentences import sentence
from angelia.core.text import one_line
from angelia.engine.live import Awaiting, Committed, LiveEvent, Resting, Writing
from angelia.faces.cli import exits
from angelia.faces.cli.daily_upkeep import tidied
from angelia.faces.cli.open_conversation import conversation_options, session_for
from angelia.faces.cli.options import open_app, turn_options
from angelia.faces.words.folder_file import not_followed
from angelia.faces.words.output import draw, echo, echo_json, hand_over
from angelia.faces.words.transcript_lines import Tone, TranscriptLines
from angelia.policy.approvers import nobody
from angelia.service.conversation.session import Session
from angelia.service.conversation.terminal_delivery import AGAIN, TERMINAL, TerminalDelivery
from angelia.service.models.choice import choose
from angelia.service.skills.conversation_skills import unseen_in_words

if TYPE_CHECKING:
    from angelia.service.app import App

_PATH = click.Path(path_type=Path, readable=False)
"""Whether it can be read is said by whoever reads it, in a sentence of ours."""


@click.command(
    epilog="\b\n"
    "Examples:\n"
    "  angelia ask 'What is in this folder?'\n"
    "  git diff | angelia ask 'Review this'\n"
    "  angelia ask --file report.pdf 'Sum it up' --json\n"
    "\n"
    "\b\n"
    "Exit codes:\n" + "\n".join(f"  {code:<4}{meaning}" for code, meaning in exits.MEANINGS.items())
)
@click.argument("words", nargs=-1)
@click.option("--file", "files", multiple=True, type=_PATH, help="A file to attach; repeatable.")
@click.option("--image", "images", multiple=True, type=_PATH, help="A picture to attach.")
@click.option("--original", is_flag=True, help="Keep attached pictures at their size.")
@conversation_options
@click.option("--json", "as_json", is_flag=True, help="Print the entries as they are committed, one JSON line each.")
@click.option("--speak", type=_PATH, metavar="FILE", help="Also speak the answer into a new file (Ogg with Opus).")
@click.option("--stream", is_flag=True, help="Print text as it comes; says so when a reply is asked for again.")
@turn_options
def ask(words: tuple[str, ...], **given: Any) -> int:
    """Ask one question; text can also be piped in. Nobody can be asked here, so what needs a yes is refused."""
    return asyncio.run(_ask(" ".join(words), given))


async def _ask(question: str, given: dict[str, Any]) -> int:
    piped = "" if sys.stdin.isatty() else await asyncio.to_thread(_read_stdin)
    app = await open_app(given)
    spoken = _demand_speech(app, given["speak"])
    session = await session_for(app, given, _note)
    choice = await choose(app.loaded.config.model, app.model_catalog, app.key_value, None)
    if choice.because:
        _note(choice.because)
    bound_profile = app.model_catalog.profile(choice.spec)
    parts = await _words(app, question, piped)
    for take, paths in ((app.attachments.file, given["files"]), (app.attachments.image, given["images"])):
        for path in paths:
            attached = await take(path, bound_profile, as_is=given["original"])
            parts.extend(attached.parts)
            for note in attached.notes:
                _note(note)
    delivery = app.terminal_delivery(session, spoken)
    overdue = delivery.unsettled()
    asking, helping = bool(parts or session.turn.opened), bool(session.children)
    if not (asking or helping or overdue):
        raise BadInput("There is no question.", then="Example: angelia ask 'What is in this folder?'")
    caps = app.loaded.config.limits
    transcript = TranscriptLines(money_capped=bool(caps.max_cost or caps.day_cost))
    for entry in session.log.entries:
        transcript.tell(entry)
    screen = _Screen(transcript, as_json=given["as_json"], stream=given["stream"])
    session.live.watch(screen.see)
    _notes([AGAIN] if overdue else [])
    for queued in overdue:  # a life that died could not show them; beside a new answer they do not go to stdout
        await delivery.deliver(queued, _note if asking else screen.way_of(queued, session.log.entries), _draw)
    await app.conversations.employ(session, choice.spec, approvers=nobody)
    prompt = app.conversations.prompt(session)
    unseen = unseen_in_words(prompt.skills.unseen_news())
    _notes([words for words in (not_followed(prompt.facts.folder, prompt.where), unseen) if words])
    if parts:
        form = e.AnswerForm.BOTH if spoken else e.AnswerForm.TEXT
        await session.take_in(e.UserSaid(tuple(parts), address=TERMINAL, answer=form))
    _stop_on_interrupt(session)  # from here on there is something to stop: before, Ctrl-C leaves at once
    code = await _settled(session) if asking or not helping else await _helpers(session)
    await _show(session, delivery, screen, delivery.due() if asking else delivery.unsettled())
    answered = not code
    if answered and spoken and not spoken.exists():
        code = exits.FAILED  # an answer that is not spoken where that was wanted says why
    if code:
        words = "" if answered else " continue"  # what the ending says to write, where that is written here
        _note(f"the conversation is kept: angelia ask --resume {session.conversation}{words}")
    if left := [started.call for started in session.children]:
        go_on = f"angelia ask --resume {session.conversation}"
        _note(f"not finished: {', '.join(left)}; they go on when the conversation does: {go_on}")
    _notes([*app.model_catalog.notes, *await tidied(app.upkeep)])
    await app.close()
    return code


async def _show(
    session: Session, delivery: TerminalDelivery, screen: "_Screen", due: Sequence[e.DeliveryQueued]
) -> None:
    """What the turn ended with.

    Raises:
        BrokenPipeError, OutputLost: it, or an entry before, could not be written; it has no receipt and comes again.
    """
    try:
        screen.demand_shown()
        for queued in due:
            await delivery.deliver(queued, screen.way_of(queued, session.log.entries), _draw)
    except OutputLost:
        _note(f"the answer is kept, and shown by: angelia ask --resume {session.conversation}")
        raise


async def _settled(session: Session) -> int:
    """Wait until no turn is open; the exit code of the ending."""
    closed = await session.settled()
    assert closed is not None
    return exits.code_of(closed.ending)


async def _helpers(session: Session) -> int:
    """Wait for those that an earlier life left at work. The exit code says whether all have answered."""
    left = {started.call for started in session.children}
    await session.wait(lambda: not session.children)
    ends = [entry.fact for entry in session.log.entries if isinstance(entry.fact, e.WorkEnded)]
    answered = {one.call for one in ends if one.child and isinstance(one.child.ending, end.Answered)}
    return 0 if left <= answered else exits.FAILED


def _demand_speech(app: "App", file: Path | None) -> Path | None:
    """The file for the spoken answer. Something must be set that speaks, and the file be new, before anything is asked.

    Raises:
        BadInput, ConfigError: it is not so.
    """
    if file is None:
        return None
    if file.exists():
        raise BadInput(f"{file} exists already; nothing was asked.", then="Name another file.")
    if not app.loaded.config.speaker:
        from angelia.service.models.speech import HOW

        raise ConfigError("Nothing is set that speaks; nothing was asked.", then=HOW)
    return file


def _stop_on_interrupt(session: Session) -> None:
    """The first Ctrl-C stops the turn, which then ends aloud; a second one leaves at once."""
    loop = asyncio.get_running_loop()
    stopping: list[asyncio.Task[None]] = []

    async def stop() -> None:
        try:
            await session.stop(OWNER)
        except AngeliaError as error:
            _note(f"It could not be told to stop. {error}")
            _note(f"Ctrl-C again leaves at once; to go on then: angelia ask --resume {session.conversation}")

    def asked() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        stopping.append(asyncio.create_task(stop()))

    loop.add_signal_handler(signal.SIGINT, asked)


async def _words(app: "App", question: str, piped: str) -> list[Content]:
    """The question; what is piped in beside one is what it is about, and as little an order as any file is."""
    if not question.strip():
        return [Text(piped)] if piped.strip() else []
    about = [await app.intake.text_to_media(piped, "stdin.txt")] if piped.strip() else []
    return [Text(question), *about]


def _read_stdin() -> str:
    """What is piped in. Bytes that are not UTF-8 are refused: half a text would be worse than none.

    Raises:
        BadInput: names the first byte that is wrong.
    """
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(
            f"What was piped in is not UTF-8: byte {error.start + 1} of {len(data)} is 0x{data[error.start]:02x}.",
            then="Convert it (iconv -t utf-8), or attach it with --file. Nothing was sent.",
        ) from None


def _note(text: str) -> None:
    echo(f"angelia: {text}", err=True)


def _notes(texts: Sequence[str]) -> None:
    for text in texts:
        _note(text)


async def _draw(path: Path) -> None:
    """A picture beside its path, if a person looks and their terminal can."""
    import shutil

    from angelia.faces.cli.pictures import Way, drawn, way_of

    way = way_of(os.environ) if sys.stderr.isatty() else Way.NONE
    draw(await asyncio.to_thread(drawn, path, way, shutil.get_terminal_size().columns), err=True)


def _say(text: str) -> None:
    """A model's words on stdout; a terminal obeys none of them, a pipe gets what was said."""
    hand_over(text.encode())


def _note_beside(queued: e.DeliveryQueued, log: Sequence[e.Entry]) -> str:
    """What we say of an answer, beneath its words: it came in one commit with them."""
    closed = ""
    for entry in log:
        match entry.fact:
            case e.TurnClosed(ending=ending):
                closed = sentence(ending)
            case e.DeliveryQueued() if entry.fact == queued:
                return closed
            case _:
                pass
    return ""


class _Screen:
    """What a person sees of the turn: progress on stderr, the answer (or the entries) on stdout."""

    def __init__(self, transcript: TranscriptLines, *, as_json: bool, stream: bool) -> None:
        self._transcript = transcript
        self._as_json = as_json
        self._stream = stream
        self._arriving = self._streamed = ""
        self._earlier: tuple[str, ...] = ()
        self._lost: BrokenPipeError | OutputLost | None = None

    def see(self, event: LiveEvent) -> None:
        """One event of the turn. The turn goes on where nobody reads any more."""
        if self._lost is None:
            try:
                self._see(event)
            except (BrokenPipeError, OutputLost) as error:
                self._lost = error

    def demand_shown(self) -> None:
        """Everything that was to be on stdout is there.

        Raises:
            BrokenPipeError, OutputLost: not so.
        """
        if self._lost is not None:
            raise self._lost

    def _see(self, event: LiveEvent) -> None:
        match event:
            case Committed(entries=entries):
                for entry in entries:
                    self._entry(entry)
            case Writing(text=text) if self._stream and not self._as_json:
                _say(text)
                self._arriving += text
            case Resting():
                from angelia.faces.words.wait_lines import resting_words

                _note(resting_words(event, "Ctrl-C stops"))
            case Awaiting():
                from angelia.faces.words.wait_lines import awaiting_words

                _note(awaiting_words(event, "Ctrl-C stops"))
            case _:
                pass

    def _entry(self, entry: e.Entry) -> None:
        if self._as_json:
            echo_json(to_json_line(entry))
        working = isinstance(entry.fact, e.ModelSaid) and any(isinstance(part, ToolCall) for part in entry.fact.parts)
        self._end_of_stream(entry.fact, working=working)
        for line in self._transcript.tell(entry):
            match line.tone:
                case Tone.REPLY if working:
                    _note(f"progress: {one_line(line.text)}")
                case Tone.STARTED:
                    _note(f"runs {line.text}")
                case Tone.DONE | Tone.FAILED | Tone.NOTE:
                    _note(f"  {line.text}")
                case Tone.WARNING if not isinstance(entry.fact, e.TurnClosed):  # an ending is said by its delivery
                    _note(line.text)
                case _:
                    pass

    def way_of(self, queued: e.DeliveryQueued, log: Sequence[e.Entry]) -> Callable[[str], None]:
        """How a delivery is shown: an answer on stdout; what we say of it, a file or another ending on stderr."""
        if queued.origin != "answer":
            return _note
        note = _note_beside(queued, log)

        def show(text: str) -> None:
            if Text(text) not in queued.parts:  # where a file is
                _note(text)
                return
            self._answer(text.removesuffix(note).rstrip("\n") if note else text)
            if note:
                _note(note)

        return show

    def _end_of_stream(self, fact: e.AnyFact, *, working: bool) -> None:
        """Each streamed reply has its own lines, so that what was cut and what came instead are never glued."""
        match fact:
            case e.ModelSaid():
                self._streamed = "" if working else self._streamed + self._arriving
            case e.FilesNamed(files=files):
                self._streamed = without_files(self._streamed, {file.place for file in files})
            case e.UserSaid():
                self._streamed, self._earlier = "", ()
            case e.RemedyUsed(remedy="mend") if self._streamed:
                _say("[this reply is mended; it follows once more]\n")
                self._streamed, self._earlier = "", (*self._earlier, self._streamed)
            case _:
                pass
        if isinstance(fact, e.ModelSaid | e.ModelFailed) and self._arriving:
            cut = isinstance(fact, e.ModelFailed)
            _say("\n[this reply was cut off here; what follows is the answer from its beginning]\n" if cut else "\n")
            self._arriving = ""

    def _answer(self, text: str) -> None:
        """The answer; what of it was streamed is not repeated."""
        rest = text
        for streamed in (*self._earlier, self._streamed):
            rest = rest.replace(streamed, "", 1).strip("\n") if streamed.strip() else rest
        if rest and not self._as_json:
            _say(rest + "\n")
