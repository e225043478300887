"""`angelia secrets`: what nobody shall see, given once and named from then on."""

import sys
from typing import Any

import click

from angelia.core.errors import BadInput
from angelia.faces.cli import completion
from angelia.faces.cli.options import loaded_from, settings_options
from angelia.faces.words.output import asked, echo
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table
from angelia.service.secrets.store import KeptSecret, SecretKind, SecretPlace, SecretStore, site_origin


@click.group(
    invoke_without_command=True,
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia secrets add github/password --for github.com\n"
        "  pass show github | angelia secrets add github/password --for github.com\n"
        "  angelia secrets remove github/code"
    ),
)
@click.pass_context
def secrets(ctx: click.Context) -> int | None:
    """Keep secrets by handle: passwords, keys, seeds of one-time codes. No command and no model shows one again."""
    return None if ctx.invoked_subcommand else int(ctx.invoke(list_secrets))


@secrets.command("list")
@settings_options
def list_secrets(**given: Any) -> int:
    """List the handles, never the values. Says to what each may be given (sites, a variable), and where it is kept."""
    kept = SecretStore(loaded_from(given).home).kept()
    if not kept:
        echo("There are no secrets; `angelia secrets add NAME` keeps one.", err=True)
        return 0
    rows = [
        (handle, one.kind, ", ".join(one.origins) or "-", one.variable or "-", one.place)
        for handle, one in kept.items()
    ]
    head = ("HANDLE", "KIND", "SITES", "COMMANDS", "KEPT IN")
    echo("\n".join(table([head, *rows], screen().columns * sys.stdout.isatty())))
    return 0


@secrets.command("add")
@click.argument("handle")
@click.option("--for", "sites", multiple=True, metavar="SITE", help="A site that may be given it. Repeatable.")
@click.option("--env", "variable", default="", metavar="NAME", help="Commands may be given it, in this variable.")
@click.option(
    "--code", is_flag=True, help="The secret is a seed of one-time codes (TOTP): otpauth://…, or its letters."
)
@click.option(
    "--in",
    "place",
    type=click.Choice(["keyring", "file"]),
    help="Where to keep it (default: the keyring, if it works).",
)
@settings_options
def add_secret(handle: str, sites: tuple[str, ...], variable: str, code: bool, place: str | None, **given: Any) -> int:
    """Keep a secret, or replace it. It is asked for and not shown, or read from standard input."""
    store = SecretStore(loaded_from(given).home)
    origins = tuple(dict.fromkeys(site_origin(site) for site in sites))
    why_not = "" if place == "file" else store.keyring.why_not()
    if place == "keyring" and why_not:
        store.keyring.read(handle)  # names the part that is missing, or why it cannot be asked
        raise BadInput(why_not, then="Without `--in keyring` it is kept in a file that only you can read.")
    value = _typed(handle)
    kind: SecretKind = "code" if code or value.startswith("otpauth:") else "text"
    chosen: SecretPlace = "file" if place == "file" or why_not else "keyring"
    replaced = store.add(handle, KeptSecret(kind, origins, chosen, value, variable))
    where = "the system's keyring" if chosen == "keyring" else f"{store.path}, which only you can read"
    echo(f"{handle} is {'replaced, and ' if replaced else ''}kept in {where}.", err=True)
    if not origins and not variable:
        echo("No site may be given it. In settings it is ${secret:" + handle + "}.", err=True)
    return 0


def _typed(handle: str) -> str:
    if sys.stdin.isatty():
        return asked(f"The secret {handle}, which is not shown", hidden=True, err=True).strip()
    return sys.stdin.readline().strip("\r\n")


@secrets.command("remove")
@click.argument("handle", shell_complete=completion.secrets)
@settings_options
def remove_secret(handle: str, **given: Any) -> int:
    """Forget a secret, here and in the keyring. What was typed or sent with it stays where it went."""
    SecretStore(loaded_from(given).home).remove(handle)
    echo(f"{handle} is forgotten.", err=True)
    return 0
