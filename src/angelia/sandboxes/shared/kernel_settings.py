"""The kernel's settings in /proc, which are the whole machine's: what must be read-only to commands where we are root.

They are root's files, and root writes them without any capability, in a namespace of users too: `kernel/core_pattern`
names a program that runs outside of everything. For everybody else their modes are enough.
"""

import os

_SETTINGS = tuple(f"/proc/{name}" for name in ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr"))


def kernel_settings() -> tuple[str, ...]:
    """Those that there are here; none where we are not root."""
    return tuple(path for path in _SETTINGS if os.path.exists(path)) if os.geteuid() == 0 else ()  # noqa: PTH110
