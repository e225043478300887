"""Writes a skill as a folder, whole or not at all."""

import os
import shutil
from pathlib import Path

from angelia.core.errors import BadInput
from angelia.path_queries import exists, is_link
from angelia.skills.skill import Skill


def write_skill(folder: Path, skill: Skill) -> None:
    """Write the files of `skill` into a new folder.

    Raises:
        BadInput: something stands there by now.
    """
    if exists(folder) or is_link(folder):
        raise BadInput(f"{folder} is there already; nothing was written.", then="Move it away, and look again.")
    draft = folder.with_name(f".{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    for file in skill.content.files:
        path = draft / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
        path.chmod(0o755 if file.executable else 0o644)
    os.rename(draft, folder)  # noqa: PTH104 - raises where a folder with something in it stands there by now
