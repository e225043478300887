"""What an instance is started with, and where what it sees lies on this machine."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from angelia.sandboxes.apptainer.instance import LOOK, InstancePlan
from angelia.sandboxes.apptainer.settings import ApptainerSettings
from angelia.sandboxes.local.safe_open import AllowedRoot, AllowedRoots
from angelia.sandboxes.shared.bound_folders import HOME, BoundFolders
from angelia.sandboxes.shared.kernel_settings import kernel_settings
from angelia.sandboxes.shared.limits import limits, processes
from angelia.sandboxes.shared.volumes import Volume, refuse_within

_TEMPORARY = {"/tmp": "tmp", "/var/tmp": "var_tmp"}  # noqa: S108 - the instance's own
"""Where they lie in the folder that `--workdir` names."""
_ELSEWHERE = re.compile(r"[a-z]+://|(docker|oci)-(archive|daemon):|oci:")


def is_elsewhere(image: str) -> bool:
    """Whether it is no file or folder to be run as it is ("Build a Container", apptainer.org/docs/user)."""
    return bool(_ELSEWHERE.match(image))


class Layout:
    """All that can be written lies here: workspace, home, a scratch for /tmp, volumes, and perhaps an overlay."""

    def __init__(self, bound: BoundFolders, settings: ApptainerSettings, volumes: Sequence[Volume]) -> None:
        """See the settings.

        Raises:
            ConfigError: a volume lies in another, or in what else can be written.
        """
        for volume in volumes:
            others = (other.inside for other in volumes if other is not volume)
            refuse_within(volume, (str(bound.workspace), HOME, *_TEMPORARY, *others))
        self._bound = bound
        self._settings = settings
        self._volumes = volumes
        self.scratch = bound.state / "scratch"

    @property
    def elsewhere(self) -> str:
        """A sentence about what is changed outside of those."""
        match self._settings.overlay:
            case "":
                return "The rest is read-only."
            case "tmpfs":
                return "What is changed elsewhere goes with the instance."
            case _:
                return "What is changed elsewhere is kept in an overlay."

    @property
    def limits(self) -> str:
        """A sentence about them."""
        nothing = "There is no limit but this machine's on memory, processors and processes."
        settings = self._settings
        return limits(settings.memory_mb, settings.cpus, processes(settings.processes), nothing=nothing)

    def plan(self, image: str, stem: str) -> InstancePlan:
        """What the instance of a conversation is to be.

        Its options: "Bind Paths and Mounts" and "Limiting Container Resources", apptainer.org/docs/user.
        """
        settings = self._settings
        options = ["--containall", "--no-privs", "--no-home", "--hostname", "sandbox", "--workdir", str(self.scratch)]
        options += ["--net", "--network", "none"] if settings.network == "none" else []
        options += ["--memory", str(settings.memory_mb * 1_000_000)] if settings.memory_mb else []
        options += ["--cpus", str(settings.cpus)] if settings.cpus else []
        options += ["--pids-limit", str(settings.processes)] if settings.processes else []
        options += (
            ["--no-mount", "sys"] if kernel_settings() else []
        )  # cgroups and the kernel are root's to write there
        options += self._overlay()
        for volume in self._mounts():
            options += ["--mount", _mount(volume)]
        return InstancePlan(
            stem=stem,
            image=image,
            remote=is_elsewhere(image),
            options=tuple(options),
            idle=max(settings.idle_minutes * 60, LOOK),
            scratch=self.scratch,
            lock=self._bound.state / "lock",
        )

    def writable(self) -> AllowedRoots:
        """Where files are written on this machine."""
        return self._roots(volume for volume in self._volumes if volume.writable)

    def readable(self) -> AllowedRoots:
        """Where they are read: also what volumes and an overlay hold, which may not be written past the instance."""
        kept = self._kept()
        return self._roots(self._volumes, *([AllowedRoot("/", kept / "upper")] if kept else ()))

    def _roots(self, volumes: Iterable[Volume], *more: AllowedRoot) -> AllowedRoots:
        temporary = (AllowedRoot(inside, self.scratch / name) for inside, name in _TEMPORARY.items())
        bound = (AllowedRoot(volume.inside, Path(volume.outside)) for volume in volumes)
        return self._bound.roots(*temporary, *bound, *more)

    def _mounts(self) -> list[Volume]:
        """Outer ones first, so that what is within is laid over them."""
        bound = self._bound
        folders, files = bound.hidden()
        places = [*self._volumes, Volume(str(bound.workspace), str(bound.workspace), writable=True)]
        places += [Volume(str(bound.home), HOME, writable=True)]
        places += [Volume(str(share.path), str(share.path), share.writable) for share in bound.guarded()]
        places += [Volume(path, path) for path in kernel_settings()]
        places += [Volume("/dev/null", path) for path in files]
        return places + [Volume(str(bound.nothing), path) for path in folders]

    def _overlay(self) -> list[str]:
        match self._settings.overlay:
            case "":
                return []
            case "tmpfs":
                return ["--writable-tmpfs"]
            case named:
                if kept := self._kept():
                    kept.mkdir(mode=0o700, parents=True, exist_ok=True)
                return ["--overlay", str(kept or Path(named).expanduser())]

    def _kept(self) -> Path | None:
        """The folder that takes what is changed in the image, where it is one."""
        match self._settings.overlay:
            case "" | "tmpfs":
                return None
            case "keep":
                return self._bound.state / "overlay"
            case named:
                path = Path(named).expanduser()
                return None if path.is_file() or named.endswith(":ro") else path


def _mount(volume: Volume) -> str:
    """For `--mount`, whose fields are those of a CSV file: so a path may hold any character."""
    ends = (f"source={volume.outside}", f"destination={volume.inside}")
    fields = ["type=bind", *('"' + end.replace('"', '""') + '"' for end in ends)]
    return ",".join([*fields, *([] if volume.writable else ["ro"])])
