"""Takes over a schedule, paused: the other agent's timer still runs, and one of the two is enough."""

from angelia.core import entry as e
from angelia.core.ids import short
from angelia.core.principal import ANGELIA, OWNER
from angelia.core.text import clean, one_line
from angelia.service.imports.port import OldSchedule
from angelia.service.imports.taking import ImportTarget, KnownItem, LeftItem, TakenFrom, TakenItem, TakingOutcome
from angelia.service.schedule.service import LONGEST_TEXT
from angelia.service.schedule.when import in_short
from angelia.service.settings.rules import SCHEDULE


async def take_schedule(target: ImportTarget, file: TakenFrom, found: OldSchedule, now: int) -> TakingOutcome:
    """Schedule it as paused, in one commit, so that it never runs before somebody resumes it.

    Raises:
        StoreError: it could not be stored; nothing of it was.
    """
    conversation = file.conversation(f"schedule {found.record}")
    text = target.redact(clean(found.text)).strip()
    if await target.imports(conversation):
        return KnownItem()
    if len(text) > LONGEST_TEXT:
        return LeftItem(f"the text of {one_line(found.timer, 80)} has more than {LONGEST_TEXT:,} characters")
    if target.dry:
        return TakenItem("schedule")
    why = f"imported from {file.agent}; its timer there may still run ({one_line(clean(found.timer), 120)})"
    said = e.Scheduled(found.when, found.zone, text, now, e.Address("terminal"), OWNER)
    here = e.Imported(file.agent, clean(file.file), clean(found.record), 1, "")
    paused = e.ScheduleChanged(e.ScheduleState.PAUSED, ANGELIA, why)
    about = f"{short(conversation)}, {in_short(found.when, found.zone)}, imported from {file.agent}"
    await target.audit.record(e.AdminAct.SCHEDULED, OWNER, about)
    await target.transcript.append(conversation, [target.opened(SCHEDULE, OWNER, ""), here, said, paused])
    return TakenItem("schedule")
