"""What a chat is shown of a conversation that works: its growing answer, its questions, and that somebody is at it."""

from collections.abc import Callable

from angelia.core import entry as e
from angelia.core.content import Text, ToolCall
from angelia.core.ids import CallId, delivery_id
from angelia.engine.live import Committed, LiveEvent, Working, Writing
from angelia.service.chats.dispatcher import DeliveryDispatcher
from angelia.service.chats.preview import Preview
from angelia.service.conversation.session import Session

TOLD = frozenset({"paint", "speak"})
"""Tools of which a chat is shown how far they are: they take long, and what they tell is written for people."""


class ChatWatch:
    """Watches one conversation for the chats. What has to arrive is in the log; this only makes it come soon."""

    def __init__(self, session: Session, dispatcher: DeliveryDispatcher, ask: Callable[[Session], None]) -> None:
        self._session = session
        self._dispatcher = dispatcher
        self._ask = ask
        self._draft: Preview | None = None
        self._told: set[CallId] = set()
        self.end = session.live.watch(self._heed)

    def _heed(self, event: LiveEvent) -> None:
        match event:
            case Writing(text=text):
                if self._draft is not None:
                    self._draft.write(text)
            case Working(call=call, text=text) if call in self._told:
                if self._draft is not None:
                    self._draft.how_far(text)
            case Committed(entries=entries):
                for entry in entries:
                    self._take(entry.fact)
                self._show_state()
            case _:
                pass

    def _take(self, fact: e.AnyFact) -> None:
        match fact:
            case e.DeliveryQueued():
                self._dispatcher.signal()
            case e.ApprovalAsked():
                self._ask(self._session)
            case e.ModelSaid(parts=parts) if calls := [part for part in parts if isinstance(part, ToolCall)]:
                self._told = {call.id for call in calls if call.name in TOLD}
                if self._draft is not None:
                    self._draft.cut("".join(part.text for part in parts if isinstance(part, Text)))
            case e.ToolFinished(call=call) if call in self._told:
                if self._draft is not None:
                    self._draft.how_far("")
            case e.ModelFailed():
                if self._draft is not None:
                    self._draft.cut()
            case _:
                pass

    def _show_state(self) -> None:
        """Tell the chat's writer whether somebody waits for an answer there, and what there is of it."""
        address, opened = self._address(), self._session.turn.opened
        if address is None:
            return
        writer = self._dispatcher.writer(address)
        if not opened:
            self._draft = None
            writer.working(None)
            return
        delivery = delivery_id(self._session.conversation, f"t{opened}")
        if self._draft is None or self._draft.delivery != delivery:
            opener = self._session.turn.opener
            reply_to = opener.reply_to if opener else ""
            self._draft = Preview(self._session.conversation, delivery, address, reply_to)
            if opener is None or opener.answer is e.AnswerForm.TEXT:  # one that is spoken has no words that could grow
                writer.draft(self._draft)
        writer.working(None if self._session.questions() else address)

    def _address(self) -> e.Address | None:
        """The chat whose message opened the running or the last turn."""
        opener = self._session.turn.opener
        return opener.address if opener and self._dispatcher.has(opener.address.door) else None
