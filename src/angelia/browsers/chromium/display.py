"""The desktop of whoever started us: where a window of the browser can be seen, and what it needs for that."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from angelia.browsers.port import BrowserMissing

LOG_IN_INSTEAD = (
    "Log in from a chat or from the page of `angelia web` instead: `angelia browser add NAME --for SITE`, have the "
    "model open the site with that profile, and it hands the page over to you."
)
_X11 = Path("/tmp/.X11-unix")  # noqa: S108 - where X servers listen


class Display(Struct, frozen=True):
    """A socket that draws windows. `cookie` is the file by which an X server knows its own, empty where there is none.

    The browser gets this socket and that file and nothing else of the desktop. An X server lets each of its programs
    see the others' windows and keys: so what starts there runs none of the model's pages.
    """

    name: str
    socket: Path
    platform: str
    cookie: str = ""

    def variables(self, home: str) -> Mapping[str, str]:
        """What tells the browser of it."""
        if self.platform == "wayland":
            return {"WAYLAND_DISPLAY": str(self.socket)}
        return {"DISPLAY": self.name, **({"XAUTHORITY": f"{home}/.Xauthority"} if self.cookie else {})}

    def mounts(self, home: str, cookie: int) -> Iterator[str]:
        """How bubblewrap shows it; `cookie` is a descriptor of that file, or -1."""
        yield from ("--dir", str(self.socket.parent), "--bind", str(self.socket), str(self.socket))
        if cookie >= 0:
            yield from ("--file", str(cookie), f"{home}/.Xauthority")


def display_of(env: Mapping[str, str] = os.environ, *, instead: str = LOG_IN_INSTEAD) -> Display:
    """The desktop of this environment.

    Raises:
        BrowserMissing: there is none on this machine; says what to do `instead`.
    """
    said = env.get("DISPLAY", "")
    number = said.removeprefix("unix").removeprefix(":").partition(".")[0]
    if said.startswith((":", "unix:")) and number.isdigit() and (socket := _X11 / f"X{number}").is_socket():
        cookie = env.get("XAUTHORITY") or str(Path(env.get("HOME", "/")) / ".Xauthority")
        return Display(f":{number}", socket, "x11", cookie if os.access(cookie, os.R_OK) else "")
    if wayland := env.get("WAYLAND_DISPLAY", ""):
        socket = Path(env.get("XDG_RUNTIME_DIR", "/run")) / wayland  # an absolute one stays as it is
        if socket.is_socket():
            return Display(wayland, socket, "wayland")
    if said or wayland:
        why = f"The desktop {said or wayland} is not on this machine or does not run; the browser reaches no other."
    elif env.get("SSH_CONNECTION"):
        why = "You are here over SSH: DISPLAY and WAYLAND_DISPLAY are not set."
    else:
        why = "DISPLAY and WAYLAND_DISPLAY are not set."
    raise BrowserMissing("There is no desktop here on which a window could be opened.", why, instead)
