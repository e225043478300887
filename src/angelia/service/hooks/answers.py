"""What a hook's program said, by its exit status and its output: pure, in the shape that Claude Code uses.

Status 2 refuses, and its errors say why; status 0 with a JSON object decides by `hookSpecificOutput.permissionDecision`
(`allow`, `deny`, `ask`, `defer`), by `decision` (`approve`, `block`) or by `continue: false`. There another status is
no obstacle, so that a guard that broke is one that approves. Here whatever a guard does that is none of these refuses.
"""

import msgspec
from msgspec import Struct

from angelia.core.entry import HookOutcome
from angelia.core.text import clean, one_line

MOST = 65_536
"""Bytes of an output: an answer is a few words."""
_WHY = 300


class HookAnswer(Struct, frozen=True):
    """What came of one run, and why."""

    came: HookOutcome
    why: str = ""


class ProgramEnd(Struct, frozen=True):
    """How a program ended: its status, and what it wrote."""

    status: int
    output: bytes
    errors: bytes


class _Specific(Struct, frozen=True, rename="camel"):
    permission_decision: str = ""
    permission_decision_reason: str = ""
    updated_input: msgspec.Raw | None = None


class _Said(Struct, frozen=True, rename="camel"):
    decision: str = ""
    reason: str = ""
    continue_: bool = msgspec.field(default=True, name="continue")
    stop_reason: str = ""
    hook_specific_output: _Specific = _Specific()


_DECISIONS = {
    "": HookOutcome.PASSED,
    "allow": HookOutcome.PASSED,
    "approve": HookOutcome.PASSED,
    "defer": HookOutcome.PASSED,
    "ask": HookOutcome.ASKED,
    "deny": HookOutcome.REFUSED,
    "block": HookOutcome.REFUSED,
}


def guard_answer(ended: ProgramEnd) -> HookAnswer:
    """What a guard decided; `FAILED` for whatever is no decision.

    >>> guard_answer(ProgramEnd(2, b"", b"not on a Friday")).why
    'not on a Friday'
    >>> guard_answer(ProgramEnd(0, b"fine!", b"")).came
    <HookOutcome.FAILED: 'failed'>
    """
    if ended.status == 2:
        return HookAnswer(HookOutcome.REFUSED, _words(ended.errors) or "it gave no reason")
    if ended.status != 0:
        return _failed(ended)
    if not ended.output.strip():
        return HookAnswer(HookOutcome.PASSED)
    try:
        said = msgspec.json.decode(ended.output, type=_Said)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return HookAnswer(HookOutcome.FAILED, f"it answered what is no decision: {_words(ended.output)[:100]}")
    return _decided(said)


def _decided(said: _Said) -> HookAnswer:
    specific = said.hook_specific_output
    if specific.updated_input is not None:
        return HookAnswer(HookOutcome.FAILED, "it would change the call, which no hook can here")
    if not said.continue_:
        return HookAnswer(HookOutcome.REFUSED, one_line(clean(said.stop_reason or said.reason), _WHY))
    word = specific.permission_decision or said.decision
    if word not in _DECISIONS:
        return HookAnswer(HookOutcome.FAILED, f"it decided “{one_line(clean(word), 40)}”, which is no decision")
    why = one_line(clean(specific.permission_decision_reason or said.reason), _WHY)
    return HookAnswer(_DECISIONS[word], why)


def observer_answer(ended: ProgramEnd) -> HookAnswer:
    """Whether an observer was told; what it says changes nothing."""
    return HookAnswer(HookOutcome.PASSED) if ended.status == 0 else _failed(ended)


def _failed(ended: ProgramEnd) -> HookAnswer:
    how = f"status {ended.status}" if ended.status >= 0 else f"signal {-ended.status}"
    return HookAnswer(HookOutcome.FAILED, f"it ended with {how}: {_words(ended.errors) or 'it said nothing'}")


def _words(data: bytes) -> str:
    return one_line(clean(data.decode("utf-8", "replace")), _WHY)
