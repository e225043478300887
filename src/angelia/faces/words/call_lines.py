"""Tool calls and their results in a few words, for people."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from angelia.core.content import CallStatus, Content, Media, Text, ToolCall
from angelia.core.counts import counted
from angelia.core.entry import ToolFinished
from angelia.core.errors import UNREADABLE
from angelia.core.text import one_line
from angelia.core.unambiguous import unambiguous_line

MOST = 100
"""Characters of a call in words."""

Words = Callable[[Mapping[str, Any]], str]


def _shell(given: Mapping[str, Any]) -> str:
    reach, hosts = given.get("reach", "confined"), given.get("hosts")
    if isinstance(hosts, list) and hosts:
        reach = f"{reach}: {', '.join(map(str, hosts))}"
    notes = [*(["background"] if given.get("background") else []), *([reach] if reach != "confined" else [])]
    return f"$ {given.get('command', '')}" + (f" ({', '.join(map(str, notes))})" if notes else "")


def _find(given: Mapping[str, Any]) -> str:
    where = f" in {given['path']}" if given.get("path") else ""
    return f"find {given.get('pattern', '')}{where}"


def _process(given: Mapping[str, Any]) -> str:
    return f"{given.get('action', 'look at')} background process {given.get('id', '')}"


def _todo(given: Mapping[str, Any]) -> str:
    items = given.get("items")
    return f"note the plan ({counted(len(items), 'item')})" if isinstance(items, list) else "note the plan"


def _delegate(given: Mapping[str, Any]) -> str:
    tasks = given.get("tasks")
    first = tasks[0].get("task", "") if isinstance(tasks, list) and tasks and isinstance(tasks[0], dict) else ""
    more = f", and {len(tasks) - 1} more" if isinstance(tasks, list) and len(tasks) > 1 else ""
    return f"delegate: {one_line(str(first), 60)}{more}"


def _helper(given: Mapping[str, Any]) -> str:
    names = given.get("names")
    whom = ", ".join(map(str, names)) if isinstance(names, list) and names else "helpers"
    said = f": {given['text']}" if given.get("text") else ""
    return f"{'wait for' if given.get('action') == 'wait' else given.get('action', '')} {whom}{said}"


def _open_page(given: Mapping[str, Any]) -> str:
    where = f"open {given['url']} in the browser" if given.get("url") else f"browser: {given.get('go', '')}"
    return where + (f", with the logins {given['profile']}" if given.get("profile") else "")


def _look_at_page(given: Mapping[str, Any]) -> str:
    what = f"find {given['find']} on the page" if given.get("find") else "look at the page"
    return what + (", with a picture" if given.get("picture") else "")


def _act_on_page(given: Mapping[str, Any]) -> str:
    r"""The steps, with what is typed; a secret by its handle.

    >>> _act_on_page({"steps": [{"do": "fill", "ref": "e1", "text": "Ann"}, {"do": "click", "ref": "e7"}]})
    'on the page: fill e1 "Ann", click e7'
    """
    steps = given.get("steps")
    told = [_step(one) for one in steps if isinstance(one, dict)] if isinstance(steps, list) else []
    return f"on the page: {', '.join(told)}"


def _step(step: Mapping[str, Any]) -> str:
    said = f'"{step["text"]}"' if step.get("text") else ""
    secret = f"with the secret {step['secret']}" if step.get("secret") else ""
    return " ".join(str(word) for word in (step.get("do", ""), step.get("ref", ""), said, secret) if word)


_WORDS: Mapping[str, Words] = {
    "browser_open": _open_page,
    "browser_look": _look_at_page,
    "browser_act": _act_on_page,
    "browser_script": lambda given: f"run in the page: {given.get('code', '')}",
    "browser_hand_over": lambda given: f"hand the page over: {given.get('why', '')}",
    "delegate": _delegate,
    "helper": _helper,
    "shell": _shell,
    "find": _find,
    "process": _process,
    "todo": _todo,
    "read": lambda given: f"read {given.get('path', '')}",
    "write": lambda given: f"write {given.get('path', '')}",
    "edit": lambda given: f"edit {given.get('path', '')}",
    "fetch": lambda given: f"fetch {given.get('url', '')}",
    "look_again": lambda given: f"look again at {given.get('id', '')}",
    "ask_user": lambda given: f"ask: {given.get('question', '')}",
    "send_file": lambda given: f"send {given.get('path', '')}",
}
"""Tools that say it better than their name and arguments would."""


def call_in_words(call: ToolCall) -> str:
    """What is run, on one line.

    >>> from angelia.core.ids import CallId
    >>> call_in_words(ToolCall(CallId("c1_0"), "shell", '{"command": "ls -la"}'))
    '$ ls -la'
    >>> call_in_words(ToolCall(CallId("c1_0"), "weather", '{"city": "Oslo"}'))
    'weather city=Oslo'
    """
    try:
        given = msgspec.json.decode(call.arguments, type=dict[str, Any])
        say = _WORDS.get(call.name)
        words = say(given) if say else " ".join([call.name, *(f"{key}={value}" for key, value in given.items())])
    except UNREADABLE:  # no object, or nested too deeply to be read or shown as one
        words = f"{call.name} {call.arguments}"
    return unambiguous_line(one_line(words, MOST))


def result_in_words(finished: ToolFinished) -> str:
    """What came of it, on one line: the line itself where there is only one, else how many there are."""
    told = _text(finished.parts).strip()
    lines = [line for line in told.splitlines() if line.strip() and line != "[exit status 0]"]
    media = [part.name or str(part.media) for part in finished.parts if isinstance(part, Media)]
    match finished.status:
        case CallStatus.OK if media:
            return one_line(", ".join(media), MOST)
        case CallStatus.OK if len(lines) <= 1 or finished.diffs:
            return one_line(" ".join(lines[:1]), MOST)
        case CallStatus.OK:
            return counted(len(lines), "line")
        case CallStatus.ERROR:
            return one_line(" ".join(_ends(lines)), MOST)
        case _:
            return one_line(told, MOST)


def _ends(lines: list[str]) -> list[str]:
    """How it ended, then the last thing that was said: errors stand at the end."""
    return [lines[-1], *lines[-2:-1]] if lines and lines[-1].startswith("[") else lines[:1]


def _text(parts: tuple[Content, ...]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, Text))
