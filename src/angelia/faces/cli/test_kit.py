"""`angelia test-kit`: a part of somebody else's, held to what its port promises, with a certificate."""

import sys

import click

from angelia.faces.cli.other_programs import become
from angelia.service.settings.config import home_folder


@click.command(
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia test-kit sandbox docker:python:3.12\n"
        "  angelia test-kit store /mnt/blobs\n"
        "  angelia test-kit channel my_channel.fake_network"
    )
)
@click.argument("kind", type=click.Choice(["channel", "sandbox", "model", "store"]))
@click.argument("name", metavar="PACKAGE")
@click.option("-o", "--output", type=click.Path(), default="angelia-certificate", help="The certificate's folder.")
def test_kit(kind: str, name: str, output: str) -> int:
    """Run the conformance kit against a part, and certify what held. Exit code 1 if something did not.

    PACKAGE is a sandbox's spec, a store's address, or a module: of a channel with `CAPABILITIES` and `make`, which
    gives a fake of its network; of a model with `PROFILE` and `make`, which gives the provider.
    """
    trial = (sys.executable, "-P", "-m", "angelia.testing.certificates", kind, name)
    become([*trial, "-o", output, "--near", str(home_folder())])
    return 0
