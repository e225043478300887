"""Data out of documents:  python extract.py invoices/*.pdf > invoices.csv.

The model does not write CSV: it calls a function with typed arguments, and a call that does not fit never gets here.
"""

import csv
import sys
from datetime import date

from angelia import BlockingAgent, NoEffect, tool

rows = csv.writer(sys.stdout)
rows.writerow(["file", "number", "day", "net", "tax"])


@tool(effect=NoEffect())
def invoice(file: str, number: str, day: date, net: float, tax: float) -> None:
    """Record one invoice.

    Args:
        file: The name of the document.
        number: The invoice's own number.
        day: When it was written, as 2026-11-23.
        net: The sum without tax.
        tax: The tax.
    """
    rows.writerow([file, number, day, net, tax])


with BlockingAgent(tools=[invoice]) as agent:
    for path in sys.argv[1:]:
        answer = agent.ask(f"Record the invoice in {path}. If it is none, say why.", files=[path])
        print(f"{path}: {answer}", file=sys.stderr)
