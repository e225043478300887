"""`angelia backup` and `restore`: everything in one file, and a home out of one."""

import asyncio
import os
import shlex
from pathlib import Path
from typing import Any

import click

from angelia.core.errors import BadInput, fault_words
from angelia.faces.cli.options import Whole, loaded_from, settings_options
from angelia.faces.cli.progress import working
from angelia.faces.cli.transfer_progress import moving
from angelia.faces.words.output import asked, echo
from angelia.service.backups.backup import BackupPlan, MadeBackup, back_up
from angelia.service.settings.config import home_folder


class TerminalSteps:
    """Steps as this terminal shows them."""

    working = staticmethod(working)
    moving = staticmethod(moving)


def usual_folder(home: Path) -> Path:
    """Where backups go unless somebody says otherwise: beside the home, `~/angelia-backups` for `~/.angelia`."""
    return home.parent / f"{home.name.lstrip('.')}-backups"


_PASSPHRASE = (
    click.option("--passphrase", is_flag=True, help="Encrypted; the passphrase is asked for."),
    click.option(
        "--passphrase-file",
        type=click.Path(path_type=Path),
        help="Encrypted; the passphrase is this file's first line.",
    ),
)


@click.command(
    epilog=("\b\nExamples:\n  angelia backup\n  angelia backup /mnt/disk --keep 7\n  angelia backup --passphrase")
)
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@_PASSPHRASE[0]
@_PASSPHRASE[1]
@click.option("--keys/--no-keys", default=None, help="Keys and tokens too (default: only if it is encrypted).")
@click.option("--keep", type=Whole(min=1), help="How many backups to keep in that folder; the oldest go.")
@settings_options
def backup(
    folder: Path | None,
    passphrase: bool,
    passphrase_file: Path | None,
    keys: bool | None,
    keep: int | None,
    **given: Any,
) -> int:
    """Put conversations, files, settings and, if you want, keys into one file, while a gateway goes on.

    The file counts once it was restored into a temporary folder and checked there.
    """
    loaded = loaded_from(given)
    words = _passphrase(passphrase, passphrase_file, twice=True)
    to = (folder or usual_folder(loaded.home)).expanduser().absolute()
    plan = BackupPlan(to, bool(words) if keys is None else keys, words, keep or 0)
    from angelia.service.stored_home import StoredHome

    made = asyncio.run(back_up(StoredHome.open(loaded), plan, TerminalSteps()))
    echo(f"{made.path} ({_in_mb(made.size)}): restored once to try, and in order.")
    for line in _beside(made):
        echo(line, err=True)
    echo(f"Every night, by cron:  17 3 * * *  {_command(loaded.home, plan, passphrase_file)}", err=True)
    return 0


def _beside(made: MadeBackup) -> list[str]:
    lines = []
    if made.left_out:
        lines.append(f"Not in it, as they are keys: {', '.join(made.left_out)}. With them: --passphrase, or --keys.")
    if made.removed:
        lines.append(f"Removed, as older: {', '.join(path.name for path in made.removed)}.")
    return lines


def _command(home: Path, plan: BackupPlan, passphrase_file: Path | None) -> str:
    """What does the same by itself, for a shell that knows nothing."""
    from angelia.installation import InstallWay, installation

    found = installation()
    words = [*found.unattended(), "backup", str(plan.folder), "--keep", str(plan.keep or 7)]
    if plan.passphrase:
        words += ["--passphrase-file", str(passphrase_file.absolute() if passphrase_file else "FILE")]
    elif plan.keys:
        words += ["--keys"]
    told = os.environ.get("ANGELIA_HOME") and found.way is not InstallWay.IMAGE  # which sets it itself
    return shlex.join([f"ANGELIA_HOME={home}", *words] if told else words)


@click.command(
    epilog=("\b\nExample:\n  ANGELIA_HOME=~/angelia-of-monday angelia restore ~/angelia-backups/angelia-….tar.gz")
)
@click.argument("file", type=click.Path(path_type=Path))
@_PASSPHRASE[0]
@_PASSPHRASE[1]
def restore(file: Path, passphrase: bool, passphrase_file: Path | None) -> int:
    """Make a home from a backup, where ANGELIA_HOME points. What is there already is never overwritten."""
    from angelia.core.moment import when
    from angelia.service.backups.restore import restore as make

    home = home_folder()
    words = _passphrase(passphrase, passphrase_file, twice=False)
    head = asyncio.run(make(file.expanduser(), home, words, TerminalSteps()))
    echo(f"{home} is what it was on {when(head.made_at)}, and in order.")
    for line in _of_the_log(head.store, os.environ.get("ANGELIA_STORE", "")):
        echo(line, err=True)
    if not head.keys:
        echo("Keys and tokens were not in the backup: put them back, or set them anew.", err=True)
    return 0


def _of_the_log(lay: str, set_to: str) -> list[str]:
    """What to know about where the log is, if it lay elsewhere or is looked for elsewhere."""
    lines = []
    if lay:
        lines += [
            f"Its log lay in {lay}; here it lies in the home. To have it in an empty PostgreSQL:",
            f"  angelia store copy home {lay}   and then `angelia config set store` with that address.",
        ]
    if set_to:
        lines.append(f"ANGELIA_STORE is {set_to} here: take it away, or that log is looked at and not this one.")
    return lines


def _passphrase(ask: bool, file: Path | None, *, twice: bool) -> str:
    """The passphrase, or nothing where none is wanted.

    Raises:
        BadInput: it is empty, cannot be read, or was typed in two ways.
    """
    if file is not None:
        try:
            words = file.expanduser().read_text("utf-8").partition("\n")[0].strip()
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"The passphrase cannot be read from {file}: {fault_words(error)}.") from error
        if not words:
            raise BadInput(f"{file} begins with an empty line.", then="Write the passphrase into its first line.")
        return words
    if not ask:
        return ""
    words = asked("Passphrase", hidden=True, err=True)
    if twice and asked("The same again", hidden=True, err=True) != words:
        raise BadInput("The two are not the same.", then="Nothing was written; try again.")
    return words


def _in_mb(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
