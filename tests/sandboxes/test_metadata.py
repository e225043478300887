"""No command in a sandbox reaches a cloud's metadata service, nor an abstract socket of this machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .cloud_machine import METADATA

WAYS = [*METADATA, "abstract"]
NAMESPACE = ("unshare", "--net") if os.geteuid() == 0 else ("unshare", "--map-root-user", "--net")


def found(kind: str, folder: Path) -> dict[str, str]:
    """What a command outside and commands in the sandbox reached; the first shows that there is something to reach."""
    words = (*NAMESPACE, sys.executable, "-m", "tests.sandboxes.cloud_machine", kind, str(folder))
    ended = subprocess.run(words, capture_output=True, text=True, timeout=250, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    told: dict[str, str] = json.loads(ended.stdout.splitlines()[-1])
    assert told.pop("outside").splitlines() == [f"{way} True" for way in WAYS]
    return told


@pytest.mark.real("bwrap")
@pytest.mark.real("curl")
def test_neither_metadata_nor_abstract_sockets_are_reached_from_the_confinement(tmp_path: Path) -> None:
    told = found("local", tmp_path)
    assert told["inside"].splitlines() == [f"{way} False" for way in WAYS]
    assert told["networked"].splitlines()[:3] == [f"{way} False" for way in WAYS]
    assert told["networked"].count("metadata service") == len(METADATA), "the proxy says why"
    assert "the secret" not in told["networked"]


@pytest.mark.usefixtures("docker")  # which knows whether this machine's kernel lets a daemon run
def test_neither_metadata_nor_abstract_sockets_are_reached_from_a_container(tmp_path: Path) -> None:
    assert found("docker", tmp_path)["inside"].splitlines() == [f"{way} False" for way in WAYS]


@pytest.mark.soak
@pytest.mark.real("apptainer")
def test_neither_metadata_nor_abstract_sockets_are_reached_from_an_instance(tmp_path: Path) -> None:
    assert found("apptainer", tmp_path)["inside"].splitlines() == [f"{way} False" for way in WAYS]
