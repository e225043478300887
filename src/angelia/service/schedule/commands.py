"""`/remind` and `/schedule`: in a conversation, in one line."""

from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.service.command_port import CommandReply, CommandTable, ConversationsPort
from angelia.service.conversation.session import Session
from angelia.service.schedule.service import ScheduleService, split_when, wish_in

_VERBS = ("pause", "resume", "remove")


async def remind(port: ConversationsPort, words: str) -> str:
    """Have it said here at a time; returns what was understood.

    Raises:
        BadInput: there is no time in it, or nothing to say.
    """
    service = port.services.schedules()
    when, text = split_when(words, service.now_in())
    if not text:
        raise BadInput("Remind you of what?", then="Example: /remind 18:00 call Ann")
    wish = wish_in(_session(port), port.address, when, f"Remind me now: {text}")
    return await service.add(wish)


async def schedule(port: ConversationsPort, words: str) -> CommandReply | CommandTable:
    """List, add, pause, resume or remove.

    Raises:
        BadInput, NotFound: there is no such schedule, or no time in it.
    """
    service = port.services.schedules()
    verb, _, part = words.partition(" ")
    if not words:
        rows = tuple(await service.lines(port.person))
        if not rows:
            return CommandReply("Nothing is scheduled. For example: /schedule every day at 8:00 sum up the news")
        return CommandTable(
            rows, "/schedule remove ID ends one; `angelia schedule history ID` shows what became of it."
        )
    if verb in _VERBS and len(part.split()) == 1:
        return CommandReply(await _changed(service, verb, part.strip()))
    when, text = split_when(words, service.now_in())
    if not text:
        raise BadInput("What is to be done then?", then="Example: /schedule weekdays at 8:00 sum up the news")
    return CommandReply(await service.add(wish_in(_session(port), port.address, when, text)))


async def _changed(service: ScheduleService, verb: str, part: str) -> str:
    found = await service.schedules.of(OWNER, part)
    match verb:
        case "pause":
            return await service.pause(found, OWNER)
        case "resume":
            return await service.resume(found, OWNER)
        case _:
            return await service.remove(found, OWNER)


def _session(port: ConversationsPort) -> Session:
    if port.session is None:
        raise BadInput("There is no conversation here yet.", then="Write something, and there is one.")
    return port.session
