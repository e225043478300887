"""A conversation at the terminal: what the person types becomes facts, and the screen follows the log."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.core import entry as e
from angelia.core.content import Content, Text
from angelia.core.days import DAY_MS
from angelia.core.errors import AngeliaError, BadInput
from angelia.core.ids import wall_clock
from angelia.core.principal import OWNER
from angelia.core.profile import Profile
from angelia.core.version import PACKAGE_VERSION
from angelia.faces.cli.chat.choices import PICKED, ChatChoices, from_home
from angelia.faces.cli.chat.folder_question import FolderQuestion
from angelia.faces.cli.chat.handed_page import HandedPage
from angelia.faces.cli.chat.input import (
    Act,
    BreakKey,
    EndKey,
    Input,
    OutputKey,
    Pasted,
    PlanKey,
    QueueKey,
    StopKey,
    TakeBackKey,
    Typed,
)
from angelia.faces.cli.chat.long_calls import tell_of_long_calls
from angelia.faces.cli.chat.message_parts import MessageParts, folder_of
from angelia.faces.cli.chat.open_choice import YES_OR_NO, OpenChoice
from angelia.faces.cli.chat.own_commands import OwnCommands, own_command
from angelia.faces.cli.chat.screen import Screen
from angelia.faces.cli.daily_upkeep import tidied
from angelia.faces.cli.open_conversation import session_for
from angelia.faces.words.questions import NewMessage, No, Yes, meant
from angelia.faces.words.taken_back import to_be_written_anew
from angelia.faces.words.transcript_lines import Tone, TranscriptLine, TranscriptLines
from angelia.policy.approvers import owner_at
from angelia.service.command_port import TerminalPort, TerminalResult
from angelia.service.commands import terminal_command
from angelia.service.conversation.session import Session
from angelia.service.conversation.terminal_delivery import TERMINAL

if TYPE_CHECKING:
    from angelia.faces.cli.chat.conversation_view import ConversationView
    from angelia.faces.cli.chat.talk import Talk
    from angelia.service.app import App


class CommandsOfChat(TerminalPort, Protocol):
    """What the conversation lends to its commands; it shows what they come to."""

    async def show(self, result: TerminalResult) -> None:
        """Show it."""
        ...

    async def print_newest(self) -> None:
        """Print the whole of the newest output that was shown cut."""
        ...


class OpenConversation(Struct, frozen=True):
    """The conversation that is open now, and what is seen of it."""

    session: Session
    watching: "ConversationView"
    handed: HandedPage


class ChatApp:
    """One person, one terminal; one conversation at a time: there is one from `opened` on, with a model from `ready`.

    What is heavy is imported after the prompt is shown.
    """

    def __init__(self, given: dict[str, Any], screen: Screen, commands: Callable[["ChatApp"], CommandsOfChat]) -> None:
        self.screen, self._given = screen, given
        self.spec = ""
        self.opened, self.ready = asyncio.Event(), asyncio.Event()
        self.app: App
        self._open: OpenConversation
        self.parts = MessageParts(lambda: self.app, lambda: self.session, lambda: self.profile, screen)
        self.plan_turned = False
        self._acts: asyncio.Queue[Act] = asyncio.Queue()
        self._choice: OpenChoice | None = None
        self._folder_question = FolderQuestion(screen, self.choice, wall_clock)
        self.choices = ChatChoices(lambda: self.app, lambda: self.session.conversation)
        self._commands = commands(self)
        self._guard: asyncio.Task[None] | None = None
        self.talking: Talk | None = None
        self._own_commands = OwnCommands(screen.warn)
        self.input: Input

    @property
    def session(self) -> Session:
        """The conversation."""
        return self._open.session

    @property
    def watching(self) -> "ConversationView":
        """What is seen of it."""
        return self._open.watching

    @property
    def profile(self) -> Profile:
        """The model, once there is one."""
        return self.app.model_catalog.profile(self.spec)

    @property
    def folder(self) -> Path:
        """The folder of this machine that the conversation is about: where it works, or where we are if elsewhere."""
        return folder_of(self.session)

    @property
    def asks(self) -> bool:
        """Whether a y or n, or another key of the kind, is waited for."""
        return self._choice is not None

    # -- the course of it ---------------------------------------------------------------------------------------

    async def run(self, given: Input) -> None:
        """Talk until the person leaves.

        Raises:
            AngeliaError: the model cannot be used, or the conversation cannot be driven.
        """
        self.input = given
        jobs = [self._begin(), self._work(), self._keep_time(), self.screen.run(given.write, given.still)]
        if not self.screen.paint.renders:
            jobs.append(tell_of_long_calls(self.opened, lambda: self.watching.now, self.screen.note))
        tasks = [asyncio.create_task(job) for job in jobs]
        for task in tasks:
            task.add_done_callback(self._ended)
        try:
            await given.run()
        finally:
            await self._end_talk()
            await self._own_commands.stop()
            await cancel_and_wait(*tasks, self._guard)
            await self.screen.drain()

    def leave(self) -> None:
        """End it."""
        self.input.leave()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self.input.leave(error)

    async def _begin(self) -> None:
        """Open the home and the conversation that the options mean, then find a model."""
        await self.input.shown()
        from angelia.faces.cli.options import open_app
        from angelia.service.models.choice import choose

        self.app = await open_app(self._given)
        session = await session_for(self.app, self._given, self.screen.note)
        if not session.log.entries:
            self.screen.note(
                f"Angelia {PACKAGE_VERSION} in {from_home(session.workspace)} · /help lists commands and keys"
            )
        self._show(session)
        self.opened.set()
        choice = await choose(self.app.loaded.config.model, self.app.model_catalog, self.app.key_value, self._ask)
        if choice.because:
            self.screen.note(choice.because)
        if self.session.turn.opened:
            self.screen.note("going on with the turn that was open")
        await self._get_weights(choice.spec)
        await self.use(choice.spec)
        await self._ask_about_folder()
        self.ready.set()

    async def _keep_time(self) -> None:
        """Begin what is scheduled as long as this is open, where the settings say so and nobody else does."""
        await self.ready.wait()
        if self.app.loaded.config.schedule.in_terminal:
            from angelia.service.schedule.keep_time import keep_time

            await keep_time(self.app.clock_services, None)

    async def _get_weights(self, spec: str) -> None:
        from angelia.faces.cli.weights import offered  # with all that gets them, for who has none of them yet

        await offered(spec, self.app.model_catalog.weights, self._ask, self.screen.note)

    async def close(self) -> None:
        """Close the home, if it was opened; an open turn stays open in the log."""
        if self.opened.is_set():
            await self._open.handed.end()
            for told in (*self.app.model_catalog.notes, *await tidied(self.app.upkeep)):
                self.screen.note(told)
            await self.app.close()

    async def use(self, spec: str) -> None:
        """Let this model drive the conversation; one that is unusable changes nothing.

        Raises:
            ConfigError, MissingPart, SandboxError: it cannot be used as it is.
        """
        await self.app.conversations.employ(self.session, spec, approvers=owner_at(e.Address("terminal")))
        self.spec = spec
        self._watch_over()

    def _watch_over(self) -> None:
        """Leave, with its reason, when the conversation cannot be driven any more."""
        if self._guard:
            self._guard.cancel()
        self._guard = asyncio.create_task(self.session.driven())
        self._guard.add_done_callback(self._ended)
        self.app.conversations.toolbox(self.session).servers.begin()
        self._open.handed.look()
        self.input.refresh()

    async def switch(self, session: Session) -> None:
        """Go to another conversation; where that cannot be worked in, nothing changes.

        Raises:
            BadInput: a turn is running here.
            SandboxError, ConfigError, MissingPart: its sandbox cannot be had.
        """
        self.must_rest()
        await self._end_talk()
        await self._own_commands.stop()
        left = self._open
        forget = session.live.watch(left.watching.now.see)  # an image may have to be fetched
        try:
            await self.app.conversations.employ(session, self.spec, approvers=owner_at(e.Address("terminal")))
        except BaseException:
            await self.app.conversations.leave(session)
            raise
        finally:
            forget()
        left.watching.end()
        await left.handed.end()
        await self.app.conversations.leave(left.session)
        self._show(session)
        self._watch_over()

    def open_window(self) -> None:
        """Open the window of the page that is handed over once more.

        Raises:
            BadInput: no open question hands one over, or its window is there.
        """
        self._open.handed.open_again()

    def must_rest(self) -> None:
        """Raises BadInput while a turn is running."""
        if self.session.turn.opened:
            raise BadInput("A turn is running.", then="Stop it first (Esc), or wait for its end.")

    def _show(self, session: Session) -> None:
        from angelia.faces.cli.chat.conversation_view import ConversationView

        caps = self.app.loaded.config.limits
        transcript = TranscriptLines(money_capped=bool(caps.max_cost or caps.day_cost))
        watching = ConversationView(session, self.app.terminal_delivery(session), self.screen, transcript)
        handed = HandedPage(session, self.app.conversations, self.screen.note)
        self._open = OpenConversation(session, watching, handed)
        session.live.watch(lambda _: self.input.refresh())

    # -- what the person does -----------------------------------------------------------------------------------

    def hear(self, act: Act) -> None:
        """Take in one act; they are done in order, leaving at once."""
        match act:
            case EndKey() | BreakKey(again=True):
                self.leave()
            case Typed(text=text) if self._choice:
                self._decide(self._choice, text)
            case StopKey() | BreakKey() if self._choice and self._choice.escape:
                self._choice.take(self._choice.escape)
            case _:
                self._acts.put_nowait(act)

    async def _work(self) -> None:
        while True:
            act = await self._acts.get()
            await self.opened.wait()
            try:
                await self._do(act)
            except AngeliaError as error:
                end_if_cancelled()
                self.screen.warn(str(error))

    async def _do(self, act: Act) -> None:
        match act:
            case Typed(text=text):
                if self.talking and not text.strip() and not self.parts.attached:
                    await self.talking.send()
                elif own := own_command(text):
                    await self.ready.wait()
                    self._own_commands.begin(self.app.conversations.run_own(self.session, own))
                elif text.strip() in PICKED and await self._picks(text.strip()):
                    return
                elif command := terminal_command(text):
                    await self._commands.show(await command(self._commands))
                    if self.ready.is_set():
                        await self._ask_about_folder()
                elif text.strip() or self.parts.attached:
                    await self.ready.wait()
                    await self._heard(text)
            case Pasted(paths=paths):
                for path in paths:
                    await self.attach(path)
            case QueueKey(text=text):
                await self.ready.wait()
                await self.parts.attach_mentioned(text)
                await self.say(text, e.Arrival.QUEUE)
            case TakeBackKey():
                await self.ready.wait()
                await self._take_back()
            case _:
                await self._pressed(act)

    async def _take_back(self) -> None:
        """The newest message that waits is typed on, with what was attached to it."""
        said = await self.session.take_back(TERMINAL)
        if said is None:
            self.screen.note("no message waits to be read that could be taken back")
            return
        words, attached = to_be_written_anew(said, self.folder)
        self.parts.put_back(attached)
        self.input.put_back(words)

    async def _picks(self, command: str) -> bool:
        """Whether the person picks from a list now what this command is given."""
        await self.ready.wait()
        self.must_rest()
        return bool(await self.choices.to_pick(command)) and self.input.pick(PICKED[command])

    async def _pressed(self, act: OutputKey | PlanKey | StopKey | BreakKey | EndKey) -> None:
        match act:
            case OutputKey():
                await self._commands.print_newest()
            case PlanKey():
                self.plan_turned = not self.plan_turned
                self.input.refresh()
            case StopKey() | BreakKey() if self.talking:
                await self.talking.stop()
            case StopKey():
                await self._stop()
            case BreakKey():
                if await self._stop():
                    return
                left_out = "what was attached is left out; " if self.parts.attached else ""
                self.parts.let_go()
                self.screen.note(f"{left_out}Ctrl-C once more leaves")
            case EndKey():
                self.leave()

    async def _stop(self) -> bool:
        """Stop the turn, or else what the person runs themselves; False when nothing runs."""
        return await self.session.stop(OWNER) or await self._own_commands.stop()

    async def talk(self) -> None:
        """Listen and speak from here on, instead of reading and writing.

        Raises:
            BadInput: it is talked already.
            ConfigError, NoSound: something that is needed for it is missing.
        """
        from angelia.faces.cli.chat.talk import Talk, TalkDeps

        await self.ready.wait()
        if self.talking:
            raise BadInput("It listens already.", then="Esc leaves.")
        deps = TalkDeps(
            self.app, self.session, self.profile, self.screen, changed=self.input.refresh, over=self._talk_is_over
        )
        self.talking = Talk(deps)
        try:
            await self.talking.begin()
        except AngeliaError:
            self.talking = None
            raise

    def _talk_is_over(self) -> None:
        self.talking = None
        self.input.refresh()

    async def _end_talk(self) -> None:
        if self.talking:
            await self.talking.end()

    async def _heard(self, text: str) -> None:
        """Stored first: what is asked before a turn may begin can stay unanswered, and nothing typed is lost by it."""
        await self.parts.attach_mentioned(text)
        if self.session.turn.opened:
            await self._said(text)
            return
        with self.session.held():
            await self._said(text)
            if self.spec:
                await self._folder_question.put(self.app.conversations.prompt(self.session))

    async def _said(self, text: str) -> None:
        """An answer to the oldest open question, or a message."""
        questions = self.session.questions()
        answer = meant(questions[0], text) if questions and not self.parts.attached else NewMessage()
        if questions and not isinstance(answer, NewMessage) and not self.watching.is_shown(questions[0]):
            self.screen.note("a question has come up meanwhile; this was not taken for its answer")
            return
        match answer:
            case Yes(scope=scope, days=days, answer=words):
                until = wall_clock() + days * DAY_MS if days else 0
                await self.session.approve(questions[0], by=OWNER, scope=scope, until=until, answer=words)
            case No():
                await self.session.refuse(questions[0], by=OWNER)
            case NewMessage():
                await self.say(text)

    async def say(self, text: str, arrival: e.Arrival = e.Arrival.STEER, *, forwarded: bool = False) -> None:
        """Send a message with what is attached; it is stored when this returns."""
        words: list[Content] = [Text(text)] if text.strip() else []
        named = () if forwarded or "@" not in text else await self.parts.served(text)
        parts, address = [*words, *self.parts.attached, *named], e.Address("terminal")
        forwarded = forwarded or bool(named)
        await self.session.say(parts, address=address, arrival=arrival, forwarded=forwarded)
        self.parts.let_go()

    async def attach(self, path: Path, *, picture: bool = False, original: bool = False) -> None:
        """Look at a file now, and send it with the next message; an `original` picture keeps its size.

        Raises:
            BadInput: it cannot be attached; says why.
        """
        await self.ready.wait()
        await self.parts.attach(path, picture=picture, original=original)
        self.input.refresh()

    async def _ask(self, question: str) -> bool:
        self.screen.put(TranscriptLine(Tone.QUESTION, f"{question} (y/n)"))
        return await self.choice(YES_OR_NO, escape="") == "yes"

    async def choice(self, words: Mapping[str, str], *, escape: str) -> str:
        """Wait for one of these words, and return what it means; what Esc means, or nothing if it means nothing."""
        self._choice = OpenChoice(words, escape)
        try:
            return await self._choice.taken
        finally:
            self._choice = None

    def _decide(self, choice: OpenChoice, text: str) -> None:
        if not choice.take(choice.words.get(text.strip().lower(), "")):
            self.screen.note(choice.please)

    async def _ask_about_folder(self) -> None:
        """At the beginning of a conversation, and wherever something else stands there now; never inside a turn."""
        if self.spec and not self.session.turn.opened:
            await self._folder_question.put(self.app.conversations.prompt(self.session))
