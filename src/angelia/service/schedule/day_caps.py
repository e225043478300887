"""Whether a schedule may begin something that costs: by its own cap of the day, and by those of whose it is."""

from angelia.core.days import day_of
from angelia.core.ids import short
from angelia.service.people.budgets import Budgets
from angelia.store.tables.schedules import Schedules, StoredSchedule


async def cap_reached(schedules: Schedules, budgets: Budgets, schedule: StoredSchedule, now: int) -> str:
    """Why nothing more of it begins today, a sentence; empty while there is room. `now` is Unix milliseconds."""
    cap = round(budgets.config.schedule.day_cost * 1e6)
    if cap and (spent := await schedules.spent(schedule.id, day_of(now))) >= cap:
        cost = f"have cost ${spent / 1e6:.4f} today, and the cap is ${cap / 1e6:.4f} (schedule.day_cost)"
        return f"The turns of {short(schedule.id)} {cost}."
    return await budgets.spent(schedule.owner)
