"""Where the skills of a conversation may lie; whoever has none pays for a few looks at folders."""

from pathlib import Path

from angelia.path_queries import is_folder
from angelia.service.files.instruction_files import repository_of
from angelia.skills.places import SkillFolder, skill_folders


def folders_for(workspace: Path | None, own_home: Path) -> list[SkillFolder]:
    """The folders of whoever works in `workspace`, a folder of this machine, or in none of it.

    A project's are those of the workspace and of each folder above it, up to the root of its repository.
    """
    project: list[Path] = []
    if workspace is not None:
        here = workspace.resolve()
        root = repository_of(here, own_home)
        project = [one for one in (here, *here.parents) if one.is_relative_to(root)]
    return skill_folders(project, Path.home(), own_home)


def any_folder(workspace: Path | None, own_home: Path) -> bool:
    """Whether there is a folder in which skills could lie."""
    return any(is_folder(one.path) for one in folders_for(workspace, own_home))
