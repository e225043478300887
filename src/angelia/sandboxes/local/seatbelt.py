"""A confined command on macOS: the profile for `sandbox-exec`.

Written after Apple's own profiles in /System/Library/Sandbox/Profiles and the sandbox-exec(1) manual page; it has not
been tried on a Mac yet. In such a profile the last rule that matches wins. A path cannot be shown at another place
here, so the private home and /tmp are reached through HOME and TMPDIR, and the real ones are denied.
"""

from collections.abc import Iterable
from pathlib import Path

from angelia.sandboxes.local.confinement import ConfinedView

_READABLE = (
    "/usr",
    "/bin",
    "/sbin",
    "/System",
    "/Library/Apple",
    "/Library/Developer",
    "/Library/Frameworks",
    "/Applications/Xcode.app",
    "/opt/homebrew",
    "/private/etc",
    "/private/var/db/timezone",
    "/private/var/db/dyld",
    "/private/var/select",
    "/dev",
)
_WRITABLE_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper")
_GUARDED = ("hooks", "config")


def profile(view: ConfinedView, *, proxy: int) -> str:
    """The profile's text, in the Scheme dialect of sandbox-exec; `proxy` is a port of the loopback, 0 for no network.

    There are no network namespaces here: that one port is all that the command may connect to.
    """
    writable = [view.workspace, view.private_home, view.private_tmp, *(s.path for s in view.shares if s.writable)]
    readable: list[Path | str] = [*_READABLE, *view.tools, *(share.path for share in view.shares), *writable]
    hidden = [path.resolve() for path in view.hidden]  # the kernel compares real paths
    guarded = [*(view.workspace / ".git" / name for name in _GUARDED), *view.fixed]
    return "\n".join(
        (
            "(version 1)",
            "(deny default)",
            '(import "system.sb")',
            "(allow process-fork process-exec sysctl-read)",
            "(allow signal (target same-sandbox))",
            '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))',
            "(allow file-read-metadata)",
            f"(allow file-read* {_subpaths(readable)})",
            f"(allow file-write* {_subpaths(writable)})",
            f"(allow file-write-data file-ioctl {_literals(_WRITABLE_DEVICES)})",
            f"(deny file-write* {_subpaths(guarded)} {_literals([view.workspace / '.git'])})",
            f"(deny file-read* file-write* {_subpaths(hidden)})" if hidden else "",
            "(deny network*)",
            *([f'(allow network-outbound (remote ip "localhost:{proxy}"))'] if proxy else []),
        )
    )


def _subpaths(paths: Iterable[Path | str]) -> str:
    return " ".join(f"(subpath {_quoted(path)})" for path in paths)


def _literals(paths: Iterable[Path | str]) -> str:
    return " ".join(f"(literal {_quoted(path)})" for path in paths)


def _quoted(path: Path | str) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
