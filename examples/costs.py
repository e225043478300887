"""What each question costs:  python costs.py questions.txt > costs.csv, one question a line."""

import csv
import sys
from pathlib import Path

from angelia import Answer, BlockingAgent, NotAnswered

rows = csv.writer(sys.stdout)
rows.writerow(["question", "came to", "tokens in", "of them cached", "tokens out", "dollars"])
with BlockingAgent(settings={"limits.max_cost": 0.25, "limits.day_cost": 5.0}) as agent:
    for question in Path(sys.argv[1]).read_text("utf-8").splitlines():
        came: Answer | NotAnswered
        try:
            came, what = agent.ask(question), "an answer"
        except NotAnswered as error:
            came, what = error, type(error.ending).__name__
        cost = "unknown" if came.cost is None else f"{came.cost:.6f}"
        rows.writerow([question, what, came.usage.input, came.usage.cache_read, came.usage.output, cost])
