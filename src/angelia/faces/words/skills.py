"""Skills in words: a row each, one in full, and what has changed since it was seen."""

import difflib
from collections.abc import Iterator, Sequence

from angelia.core.counts import counted
from angelia.core.text import one_line
from angelia.faces.words.transcript_lines import Tone, TranscriptLine
from angelia.service.skills.seen import JudgedSkill, seen_files
from angelia.service.skills.skill_acts import state_in_words
from angelia.store.tables.seen_skills import SeenFile

SHOWN_LINES = 60
"""Of a file besides SKILL.md, and of a diff, where the whole is one key further."""


def whole(
    judged: JudgedSkill, remarks: Sequence[str], before: Sequence[SeenFile], *, all_of_it: bool
) -> list[TranscriptLine]:
    """A skill as its person is shown it: what it is, what to know of it, and its files, or how they have changed.

    `before` are the files as they were seen the last time, none for a new one.
    """
    skill = judged.skill
    head = [f"{skill.called}: {one_line(skill.description, 1_100)}" if skill.description else skill.called]
    head += [f"{skill.path} ({judged.of}), version {skill.digest[:12]}, {state_in_words(judged)}"]
    if skill.allowed:
        head.append(f"It wants to work with these tools alone: {', '.join(skill.allowed)}")
    lines = [TranscriptLine(Tone.QUESTION, "\n".join(head))]
    lines += [TranscriptLine(Tone.WARNING, one.in_words()) for one in skill.findings]
    lines += [TranscriptLine(Tone.WARNING, one) for one in remarks]
    now = {one.path: one for one in seen_files(skill.content)}
    then = {one.path: one for one in before}
    for path in sorted(now | then, key=lambda one: (one not in ("SKILL.md", "skill.md"), one)):
        lines += _file(now.get(path), then.get(path), changed=bool(before), all_of_it=all_of_it)
    return lines


def _file(now: SeenFile | None, then: SeenFile | None, *, changed: bool, all_of_it: bool) -> Iterator[TranscriptLine]:
    if now is None:
        assert then is not None
        yield TranscriptLine(Tone.NOTE, f"{then.path} is gone")
        return
    what = f"{now.path} ({now.size:,} bytes{', may be executed' if now.executable else ''})"
    if changed and then == now:
        yield TranscriptLine(Tone.NOTE, f"{what} is as you saw it")
        return
    yield TranscriptLine(Tone.NOTE, f"{what}{' is new' if changed and then is None else ''}")
    if then and then.executable != now.executable:
        yield TranscriptLine(
            Tone.WARNING, f"{now.path} {'may be executed now' if now.executable else 'is no program any more'}"
        )
    if now.text is None:
        yield TranscriptLine(Tone.OUTPUT, f"no text; SHA-256 {now.sha256}")
        return
    if then is not None and then.text is not None:
        rows = [*difflib.unified_diff(then.text.splitlines(), now.text.splitlines(), lineterm="", n=3)][2:]
        tone = Tone.DIFF
    else:
        rows, tone = now.text.splitlines(), Tone.OUTPUT
    most = len(rows) if all_of_it or (tone is Tone.OUTPUT and now.path in ("SKILL.md", "skill.md")) else SHOWN_LINES
    yield TranscriptLine(tone, "\n".join(rows[:most]) or "(empty)")
    if len(rows) > most:
        yield TranscriptLine(Tone.NOTE, f"… and {counted(len(rows) - most, 'more line')}")
