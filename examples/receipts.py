"""A receipt keeper: photograph a receipt in Telegram, and it becomes a line of receipts.csv.

1. angelia channels add telegram
2. cp receipts.py ~/.angelia/plugins/  (make the folder first: mkdir -m 700 ~/.angelia/plugins)
3. angelia gateway

Then send a photo to your bot, and ask it now and then: "What did I spend on food this month?"
"""

import csv
import os
from datetime import date
from pathlib import Path
from typing import Literal

from angelia import NoEffect, tool

TABLE = Path(os.environ.get("RECEIPTS", "~/receipts.csv")).expanduser()
COLUMNS = ["day", "shop", "what", "total", "currency"]


@tool(effect=NoEffect())  # the table is this tool's own, and nothing else is touched
def keep_receipt(
    shop: str, day: date, total: float, what: Literal["food", "home", "travel", "other"], currency: str = "EUR"
) -> str:
    """Keep a receipt. Call it for every receipt that the person shows, once each.

    Args:
        shop: As it is printed.
        day: The day on the receipt, as 2026-11-23.
        total: What was paid, taxes included.
        what: What it was for.
        currency: Three letters.
    """
    new = not TABLE.exists()
    with TABLE.open("a", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        if new:
            rows.writerow(COLUMNS)
        rows.writerow([day.isoformat(), shop, what, f"{total:.2f}", currency])
    return f"Kept: {shop}, {day}, {total:.2f} {currency}."


@tool(effect=NoEffect())
def receipts(since: date | None = None) -> list[dict[str, str]]:
    """The receipts that were kept, oldest first.

    Args:
        since: The first day; all, if it is not given.
    """
    if not TABLE.exists():
        return []
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["day"])
    return [row for row in rows if since is None or row["day"] >= since.isoformat()]
