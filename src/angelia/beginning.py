"""Where a program begins that runs outside of every sandbox: where its person said, else where no model lays anything.

Many look around where they begin: `npx`, `node` and `python -m` for code, version managers for what to run, all of them
for a path that is relative, and upwards from there. In the folder of a conversation they would find what its model
wrote, and run it outside of every wall. So nothing begins there by itself: a command line of the settings begins in the
person's home, in which no conversation works, and a server in a folder that is empty, since of some (`.` as an
argument) the model is shown where they began.
"""

import os
from contextlib import suppress
from pathlib import Path

from angelia.core.errors import ConfigError
from angelia.core.ids import sortable_id
from angelia.path_queries import is_folder

FOLDER = "empty"


def persons_home() -> str:
    """Where a command line of the person's begins; the root where that home is not there, as for a service's user."""
    home = os.path.expanduser("~")  # noqa: PTH111 - `Path.home` raises where nobody knows of one
    return home if is_folder(home) else "/"


def named_folder(cwd: str, workspace: str, where: str) -> str:
    """The folder that the setting `where` names; what is relative is so to the conversation's folder, `workspace`,
    which is empty if that is on another machine.

    Raises:
        ConfigError: it is relative, and there is no such folder here.
    """
    named = os.path.expanduser(cwd)  # noqa: PTH111 - a `~nobody` stays, and is not found
    if os.path.isabs(named):  # noqa: PTH117
        return named
    if not workspace:
        raise ConfigError(
            f'{where} is "{cwd}", within the folder of the conversation, which is not on this machine.',
            then="Give it a path from the root, or leave it out.",
        )
    return os.path.join(workspace, named)  # noqa: PTH118


def empty_folder(home: Path) -> str:
    """The empty folder of Angelia's `home`. It is made; where something lies in it, that is moved into `quarantine`.

    Nobody but root can write into it: what one server left there would be found by the next.

    Raises:
        OSError: it cannot be made.
    """
    place = home / FOLDER
    with suppress(FileExistsError):
        place.mkdir(mode=0o500, parents=True)
    if any(place.iterdir()):
        aside = home / "quarantine" / sortable_id()
        aside.parent.mkdir(mode=0o700, exist_ok=True)
        place.chmod(0o700)  # a folder that is moved has to be writable: its `..` changes
        place.rename(aside)
        place.mkdir(mode=0o500)
    place.chmod(0o500)
    return str(place)
