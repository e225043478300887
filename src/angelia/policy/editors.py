"""Whether an editor may act in place of the sandbox: asked for once, since no confinement holds it."""

from angelia.policy.situation import Situation
from angelia.policy.verdict import Allow, Ask, UseEditor, Verdict

FILES, TERMINAL = "its files", "its terminal"

_QUESTIONS = {
    FILES: "Let the editor write files?",
    TERMINAL: "Run commands in the editor's terminal?",
}
_REASONS = {
    FILES: "It writes outside of the confinement, and may format or run what it is set to when it saves.",
    TERMINAL: "They run outside of the confinement there: they may do whatever you may do.",
}


def may_use_editor(effect: UseEditor, situation: Situation) -> Verdict:
    """The verdict on one of the editor's means. What is done with it, a write or a command, is judged beside this."""
    pattern = f"use: the editor, {effect.what}"
    if pattern in situation.granted:
        return Allow(f"You said yes to `{pattern}`.")
    return Ask(_QUESTIONS[effect.what], _REASONS[effect.what], pattern)
