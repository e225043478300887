"""A report on what happened in a folder, for cron:

0 2 * * *  cd /srv/reports && python nightly_report.py /var/log/shop

The model reads and writes nothing (mode "plan"), and stops at half a dollar. The report is a file of its own for each
night; a night without one leaves the reason in its place.
"""

import sys
from datetime import date
from pathlib import Path

from angelia import BlockingAgent, NotAnswered

QUESTION = """Read what was logged here since yesterday. Write a report for somebody who has two minutes: what failed,
how often, what is new, what needs a person. Quote the lines that show it. If nothing happened, say so in one line."""

report = Path(f"report-{date.today()}.md")  # noqa: DTZ011 - the day of this machine is meant
with BlockingAgent(workspace=sys.argv[1], settings={"policy.mode": "plan", "limits.max_cost": 0.5}) as agent:
    try:
        answer = agent.ask(QUESTION)
    except NotAnswered as error:
        report.write_text(f"No report tonight: {error}\n", "utf-8")
        sys.exit(1)
report.write_text(f"{answer}\n", "utf-8")
