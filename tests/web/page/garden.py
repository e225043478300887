"""The conversation that the page is drawn with: a garden's harvest, with one of everything."""
# ruff: noqa: E501 - what the server tells is easier to read unbroken

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from PIL import Image

from angelia.faces.web.conversations.markdown_nodes import nodes
from tests.web.page.fake import FakeServer, event

TALK = "01HARVEST"
AT = int(datetime.now(UTC).replace(hour=12, minute=2, second=0, microsecond=0).timestamp() * 1000)


def _picture() -> bytes:
    """A chart of a kind: columns on white."""
    image = Image.new("RGB", (320, 160), "white")
    for n, height in enumerate((20, 55, 110, 75, 30)):
        image.paste((24, 105, 63), (30 + n * 56, 150 - height, 62 + n * 56, 150))
    held = io.BytesIO()
    image.save(held, "PNG")
    return held.getvalue()


PICTURE = _picture()
COMMAND = 'git add harvest.md harvest.png &&\ngit commit -m "Harvest 2026: table and chart" &&\ngit push git@codeberg.org:ann/garden.git main'

Entry = dict[str, Any]


def said(seq: int, text: str, **more: Any) -> Entry:
    """What a person says."""
    words = [{"text": text, "nodes": [["p", {}, [text]]]}]
    return {
        "seq": seq,
        "at": AT + seq * 1000,
        "kind": "UserSaid",
        "who": "owner",
        "door": "telegram",
        "parts": words,
        "arrival": "steer",
        "heard_at_step": 1,
        "key": f"k{seq}",
        **more,
    }


def reply(seq: int, nodes: list[Any], *calls: dict[str, Any], **more: Any) -> Entry:
    """What the model says, with what it calls."""
    usage = {"input": 1, "output": 1}
    return {
        "seq": seq,
        "at": AT + seq * 1000,
        "kind": "ModelSaid",
        "model": "anthropic:sonnet-5.5",
        "nodes": nodes,
        "thinking": "",
        "calls": list(calls),
        "usage": usage,
        "cost": 1000,
        "stop": "end",
        **more,
    }


def call(name: str, line: str, own: str, **arguments: Any) -> dict[str, Any]:
    """A tool call."""
    return {"id": own, "name": name, "line": line, "arguments": arguments}


def finished(seq: int, own: str, text: str = "", line: str = "", **more: Any) -> Entry:
    """How it ended."""
    parts = [{"text": text, "nodes": []}] if text else []
    return {
        "seq": seq,
        "at": AT + seq * 1000,
        "kind": "ToolFinished",
        "call": own,
        "status": "ok",
        "line": "",
        "result": line,
        "seconds": 0.1,
        "parts": parts,
        "whole": False,
        "diffs": [],
        **more,
    }


def fact(seq: int, kind: str, **more: Any) -> Entry:
    """Any other."""
    return {"seq": seq, "at": AT + seq * 1000, "kind": kind, **more}


QUESTION = {
    "call": "c9",
    "digest": "d9",
    "question": "Run this command?",
    "why": "It leaves your machine: it pushes to codeberg.org over SSH, with your key.",
    "whole": COMMAND,
    "pattern": "git push git@codeberg.org:ann/garden.git *",
    "choices": [],
    "asks": "permission",
    "expires": 0,
    "at": AT + 340_000,
    "seq": 30,
    "marks": [[COMMAND.index("git@"), COMMAND.index(" main")]],
    "facts": [["In", "~/garden"], ["Reaches", "network, files of this folder"]],
    "covers": ["git push git@codeberg.org:ann/garden.git --force"],
}
SECOND = {
    **QUESTION,
    "call": "c10",
    "digest": "d10",
    "question": "Move 18,204 files to the NAS?",
    "why": "It removes the originals once each is copied.",
    "whole": "rsync -a --remove-source-files /mnt/old/photos/ nas.local:/vault/photos/",
    "marks": [[49, 73]],
    "facts": [],
    "at": AT + 341_000,
}
PLAN = [
    ("Read the harvest and last year’s diary", "done"),
    ("Count per bed and month", "done"),
    ("Draw, write and send harvest.md", "done"),
    ("Push to codeberg", "active"),
    ("Seed prices, once the helpers are back", "pending"),
]
CODE = [
    ["k", {}, ["from"]], " csv ", ["k", {}, ["import"]], " DictReader\n\nkg = ", ["f", {}, ["Counter"]], "()\n", ["k", {}, ["for"]], " row ", ["k", {}, ["in"]], " ", ["f", {}, ["DictReader"]], "(", ["f", {}, ["open"]], "(",
    ["s", {}, ['"harvest.csv"']], ")):\n    kg[row[", ["s", {}, ['"bed"']], "]] += ", ["n", {}, ["1.0"]], "\n", ["f", {}, ["print"]], "(kg)   ", ["c", {}, ["# [('south', 33.0), ('north', 23.5)]"]],
]  # fmt: skip
DIFF = {
    "path": "harvest.md",
    "added": 6,
    "removed": 1,
    "cut": False,
    "rows": [
        [" ", "# Harvest"],
        [" ", ""],
        ["-", "Bed totals follow when the last tomatoes are in."],
        ["+", "| bed   | 2025 | 2026 | change |"],
        ["+", "|-------|-----:|-----:|-------:|"],
        ["+", "| north | 21.0 | 23.5 | +12 %  |"],
        ["+", "| south | 29.5 | 33.0 | +12 %  |"],
        ["+", ""],
        ["+", "![per month](harvest.png)"],
    ],
}
FILE = {
    "media": "document",
    "name": "harvest.md",
    "mime": "text/markdown",
    "size": 212,
    "width": 0,
    "height": 0,
    "seconds": 0,
    "words": "",
    "seq": 17,
    "part": 0,
}
CHART = {
    "media": "image",
    "name": "harvest.png",
    "mime": "image/png",
    "size": 8965,
    "width": 1280,
    "height": 640,
    "seconds": 0,
    "words": "Columns per month: the south bed is ahead of the north bed.",
    "seq": 15,
    "part": 0,
}


def _cell(name: str, text: str, align: str = "") -> list[Any]:
    return [name, {"align": align} if align else {}, [text]]


TABLE = ["table", {}, [
    ["thead", {}, [["tr", {}, [_cell("th", "Bed"), _cell("th", "2025, kg", "right"), _cell("th", "2026, kg", "right"), _cell("th", "Best month")]]]],
    ["tbody", {}, [["tr", {}, [_cell("td", "South"), _cell("td", "29.5", "right"), _cell("td", "33.0", "right"), _cell("td", "August, 11.0 kg")]], ["tr", {}, [_cell("td", "North"), _cell("td", "21.0", "right"), _cell("td", "23.5", "right"), _cell("td", "August, 7.2 kg")]]]],
]]  # fmt: skip


def harvest() -> list[Entry]:
    """The whole conversation, up to the question that waits."""
    items = [{"text": text, "status": status} for text, status in PLAN]
    return [
        said(1, "Which bed brought more? Make me a chart, put the table into harvest.md, send me the file, and push it. And find out what the seeds would cost this year."),
        reply(2, [], call("todo", "note the plan (5 items)", "c1", items=json.dumps(items)), thinking="The beds are in harvest.csv; last year's numbers are in the diary."),
        finished(3, "c1", "Noted: 3 of 5 done."),
        reply(4, [], call("read", "read harvest.csv", "c2", path="harvest.csv"), call("read", "read diary-2025.md", "c3", path="diary-2025.md")),
        finished(5, "c2", "month,bed,kg", "120 lines"), finished(6, "c3", "# Diary", "40 lines"),
        reply(7, [], call("shell", "$ python3 totals.py --by bed --years 2025,2026", "c4", command="python3 totals.py --by bed --years 2025,2026"), call("shell", "$ pip install matplotlib", "c5", command="pip install matplotlib")),
        fact(8, "ToolStarted", call="c4"), finished(9, "c4", "bed    2025   2026\nnorth  21.0   23.5\nsouth  29.5   33.0", "3 lines", seconds=0.8),
        finished(10, "c5", "no route to host", "no network · exit 1", status="error"),
        reply(11, [["p", {}, ["There is no network in here, so I count with what is installed. This is the whole calculation, and ", ["code", {}, ["totals.py"]], " holds it:"]], ["pre", {"lang": "python"}, CODE]], call("write", "write harvest.md", "c6", path="harvest.md")),
        finished(12, "c6", "Written.", "9 lines", diffs=[DIFF]),
        reply(13, [], call("shell", "$ python3 chart.py", "c7", command="python3 chart.py")),
        finished(15, "c7", "", "1 picture", parts=[CHART]),
        fact(17, "DeliveryQueued", id="d1", to={"door": "telegram", "chat": "Ann", "thread": ""}, origin="tool", parts=[FILE]),
        fact(18, "DeliverySettled", id="d1", status="confirmed", detail=""),
        fact(20, "WorkStarted", call="c8", work="child", what="prices at three seed shops"),
        fact(21, "WorkStarted", call="c8b", work="process", what="python3 frost_watch.py"),
        reply(22, [TABLE, ["p", {}, ["The south bed brought more."]], ["ul", {}, [["li", {}, ["in ", ["strong", {}, ["every"]], " month"]], ["li", {}, ["most in ", ["a", {"href": "https://example.org/august"}, ["August"]]]]]], *nodes("$$\\frac{33.0}{29.5} = 1.12$$"), *nodes("So \\(\\bar x = 31.25\\); $\\unknown$.")], call("shell", "$ git add harvest.md harvest.png && git commit", "c9", command=COMMAND)),
        fact(30, "ApprovalAsked", **{key: value for key, value in QUESTION.items() if key not in ("seq", "at")}),
    ]  # fmt: skip


def state(**more: Any) -> dict[str, Any]:
    """The conversation as `GET /api/conversations/ID` tells it."""
    work = [
        {
            "call": "c8",
            "kind": "child",
            "what": "prices at three seed shops",
            "child": "01CHILD",
            "since": AT,
            "spent": 40_000,
            "cap": 200_000,
            "now": "reads dreschflegel-saatgut.de",
        },
        {"call": "c8b", "kind": "process", "what": "frost_watch.py", "since": AT},
    ]
    return {
        "id": TALK,
        "title": "Harvest 2026, table and chart",
        "door": "telegram",
        "folder": "/home/ann/garden",
        "sandbox": "local",
        "model": "anthropic:sonnet-5.5",
        "mode": "edit",
        "models": [],
        "last_seq": 30,
        "opened_at": AT,
        "owner": "owner",
        "turn": {"open": True, "since": AT + 1000, "spent": {"cost": 210_000, "tokens": 48_211}, "waits": [32]},
        "questions": [QUESTION, SECOND],
        "spent": {"cost": 210_000, "tokens": 48_211, "unpriced": 0},
        "cap": 500_000,
        "work": work,
        "files": [FILE, CHART],
        "steps": [14, 90],
        **more,
    }


def garden() -> FakeServer:
    """A server with this conversation, some others, and a day's worth of everything."""
    fake = FakeServer()
    titles = [
        ("01HARVEST", "Harvest 2026, table and chart", True, 1),
        ("01PHOTOS", "Move the photos off the old disk", True, 1),
        ("01LETTER", "Letter to the allotment club", True, 0),
        ("01PUMP", "Why does the pump stop at night?", False, 0),
        ("01SEEDS", "Seeds for spring", False, 0),
        ("01TAX", "Tax papers, 2025", False, 0),
    ]
    talks = [
        {
            "id": own,
            "title": title,
            "opened_at": AT - n * 7_000_000,
            "last_at": AT - n * 40_000_000,
            "last_seq": 30,
            "door": "telegram" if n < 3 else "terminal",
            "folder": "/home/ann/garden" if n < 3 else "/home/ann/papers",
            "sandbox": "local",
            "open": going,
            "waits": waits,
        }
        for n, (own, title, going, waits) in enumerate(titles)
    ]
    fake.entries[TALK] = harvest()
    fake.answers = {
        "/api/home": {"version": "0.1.0", "model": "anthropic:sonnet-5.5", "mode": "edit", "folder": "/home/ann/garden", "zone": "Europe/Berlin", "doors": ["terminal", "telegram", "web"], "spent_today": {"cost": 1_420_000, "tokens": 812_000, "unpriced": 0}, "day_cost": 5_000_000, "receipts": {"total": 214, "failed": 1}, "channels": {"total": 3, "bad": 0}},
        "/api/conversations": {"conversations": talks, "more": ""},
        "/api/conversations?q": {"found": [{"conversation": "01TAX", "title": "Tax papers, 2025", "seq": 12, "at": AT - 3_000_000_000, "door": "terminal", "line": "keep the receipts of the seed shop", "marks": [[9, 17]]}]},
        "/api/questions": {"questions": [{**QUESTION, "conversation": TALK, "title": titles[0][1], "door": "telegram"}, {**SECOND, "conversation": "01PHOTOS", "title": titles[1][1], "door": "terminal"}]},
        f"/api/conversations/{TALK}": state(),
    }  # fmt: skip
    fake.answers |= json.loads((Path(__file__).parent / "pages.json").read_text())
    fake.media[f"/api/conversations/{TALK}/media/15/0"] = ("image/png", PICTURE)
    looked = (
        ["well", "Store", "All 12 conversations can be read.", ""],
        ["broken", "Matrix", "The access token is not known.", "angelia channels add"],
    )
    found = b"".join(
        event("finding", {"state": state, "about": about, "seen": seen, "mend": mend})
        for state, about, seen, mend in looked
    )
    fake.media["/api/doctor"] = ("text/event-stream", found + event("done", {"broken": 1}))
    return fake
