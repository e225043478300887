"""What happened, told without a model: requests, first words of answers, tools by count."""

from collections.abc import Sequence

from angelia.context.system_notes import about_files
from angelia.core import entry as e
from angelia.core.content import Text, ToolCall
from angelia.core.counts import counted
from angelia.core.text import one_line

_LINES = 60


def outline(log: Sequence[e.Entry], start: int, end: int) -> str:
    """The entries from `start` up to before `end` as at most about sixty lines."""
    lines: list[str] = []
    tools: dict[str, int] = {}
    for entry in log:
        if not start <= entry.seq < end:
            continue
        match entry.fact:
            case e.Opening(parts=parts):
                said = " ".join(p.text if isinstance(p, Text) else f"[{p.media} {p.name}]" for p in parts)
                lines.append(f"- The person: {one_line(said, 300)}")
            case e.Transcribed(spoken=spoken):
                lines.extend(f"- The person, in a recording: {one_line(one.text, 300)}" for one in spoken if one.text)
            case e.FilesPlaced():
                lines.append(f"- ({about_files(entry.fact)})")
            case e.ModelSaid(parts=reply):
                for part in reply:
                    if isinstance(part, ToolCall):
                        tools[part.name] = tools.get(part.name, 0) + 1
                text = " ".join(part.text for part in reply if isinstance(part, Text))
                if text.strip():
                    lines.append(f"- You: {one_line(text, 200)}")
            case _:
                pass
    if len(lines) > _LINES:
        half = _LINES // 2
        lines = [*lines[:half], f"- ({counted(len(lines) - 2 * half, 'line')} left out)", *lines[-half:]]
    if tools:
        lines.append(
            "- Tools used: " + ", ".join(f"{name} {counted(count, 'time')}" for name, count in sorted(tools.items()))
        )
    return "\n".join(lines)
