"""What a person may choose about Apptainer instances."""

from typing import Literal

from msgspec import Struct

from angelia.core.amounts import Amount, Count


class ApptainerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits and looks of an instance. 0 is no limit; `memory_mb` is 1,000,000 bytes, `cpus` are cores.

    Limits need cgroups: version 2 with systemd, or root. `network` is none, or the machine's own. The image is
    read-only unless `overlay` names a folder or an overlay image that takes what is changed in it, `"keep"`, which is
    a folder of the conversation's own, or `"tmpfs"`, which forgets it with the instance. `volumes` are further
    folders, `/here:/inside` or `/here:/inside:rw`, and lie beside workspace, home, /tmp and each other. An instance
    that nobody uses for `idle_minutes` ends by itself. `program` is `apptainer` or `singularity` where it is not on
    `PATH`.
    """

    program: str = ""
    network: Literal["none", "host"] = "none"
    memory_mb: Count = 0
    cpus: Amount = 0.0
    processes: Count = 0
    overlay: str = ""
    volumes: tuple[str, ...] = ()
    idle_minutes: Count = 15
