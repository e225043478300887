"""Whether a path may be read, written or sent, judged by where it really lies."""

import posixpath
import unicodedata

from angelia.policy.path_location import beneath
from angelia.policy.secret_paths import decides_what_runs, folded, secret_kind
from angelia.policy.situation import Situation
from angelia.policy.verdict import Allow, Ask, Deny, Verdict

_UNREAL = ("/proc", "/sys", "/dev")


def may_read(path: str, resolved: str, situation: Situation) -> Verdict:
    """The verdict on reading `path`, which leads to `resolved` (absolute, every link followed).

    Credentials in the workspace ask (people do keep `.env` files there); elsewhere they are refused.
    """
    if fault := _fault(path, resolved, situation):
        return Deny(fault)
    if kind := _secret(path, resolved, situation):
        return Ask(f"Read {path}?", f"It holds {kind}.", pattern=f"read {resolved}")
    return Allow("It lies in the workspace.")


def may_write(path: str, resolved: str, situation: Situation) -> Verdict:
    """The verdict on creating or changing `path`, which leads to `resolved`."""
    if fault := _fault(path, resolved, situation):
        return Deny(fault)
    name = _name(resolved, situation)
    if any(map(decides_what_runs, _names(path, resolved, situation))):
        return Deny(
            f"{name} decides which programs run later, outside any confinement, so tools may not write it. "
            "Change it by hand if you want it changed."
        )
    if posixpath.basename(resolved).startswith("-"):
        return Ask(f"Write {name}?", "Its name looks like an option: a later `*` would hand it to a program as one.")
    if kind := _secret(path, resolved, situation):
        return Ask(f"Write {name}?", f"It holds {kind}.", pattern=f"write {resolved}")
    return Allow("It lies in the workspace.")


def may_send(path: str, resolved: str, situation: Situation) -> Verdict:
    """The verdict on sending the file at `path`, which leads to `resolved`, to a person. Credentials never go out."""
    if fault := _fault(path, resolved, situation):
        return Deny(fault)
    if kind := _secret(path, resolved, situation):
        return Deny(f"{path} holds {kind}, and credentials are never sent. Say in words what is needed from it.")
    if decides_what_runs("/" + _name(resolved, situation)):
        return Deny(f"{path} belongs to the repository's own settings, which may hold credentials; it is not sent.")
    return Allow("It lies in the workspace.")


def _fault(path: str, resolved: str, situation: Situation) -> str:
    """Why the path may not be touched at all; empty when it may."""
    if hidden := next((mark for mark in path + resolved if unicodedata.category(mark) in {"Cc", "Cf"}), ""):
        return f"The path holds an invisible character (U+{ord(hidden):04X}). Give it without."
    if not resolved.startswith("/") or posixpath.normpath(resolved) != resolved:
        return f"The path {path!r} was not resolved to where it really lies ({resolved!r}); nothing was done."
    if situation.own_home and _beneath_any_case(resolved, situation.own_home):
        return "This is angelia's own home (its log, grants and settings); tools may not touch it."
    root = next((root for root in situation.private_roots if _beneath_any_case(resolved, root)), "")
    if root and not beneath(situation.workspace, root):
        return f"{root} is private; tools may not touch it."
    if not beneath(resolved, situation.workspace):
        where = f" (it leads to {resolved})" if resolved != path else ""
        if any(beneath(folded(path), unreal) for unreal in _UNREAL):
            return f"{path} is not a file but a view of the running system; tools may not touch it."
        return (
            f"{path}{where} lies outside the workspace {situation.workspace}. "
            "Copy it into the workspace, attach it to a message, or start the conversation in its folder."
        )
    return ""


def _beneath_any_case(path: str, folder: str) -> bool:
    return beneath(folded(path), folded(folder))


def _name(resolved: str, situation: Situation) -> str:
    """The path as seen from the workspace."""
    return resolved[len(situation.workspace.rstrip("/")) + 1 :] or "."


def _names(path: str, resolved: str, situation: Situation) -> tuple[str, str]:
    """What the path is called, by where it leads and as it was given; folders above the workspace do not count."""
    given = path if not path.startswith("/") or not beneath(path, situation.workspace) else _name(path, situation)
    return "/" + _name(resolved, situation), "/" + given.lstrip("/")


def _secret(path: str, resolved: str, situation: Situation) -> str:
    """What secrets lie there, by either name."""
    return next(filter(None, map(secret_kind, _names(path, resolved, situation))), "")
