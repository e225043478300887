"""Where Angelia writes about itself: a file in the home, without message bodies and without secrets."""

import logging
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from angelia.core.counts import counted
from angelia.core.visible import visible
from angelia.service.settings.config import home_folder

logger = logging.getLogger(__name__)

_MOST_BYTES = 2_000_000
"""A larger file is set aside at the next start, in place of the one before it."""


def log_file(environment: Mapping[str, str]) -> Path:
    """The log file of the home that this environment names."""
    return home_folder(environment) / "angelia.log"


class _Redacting(logging.Formatter):
    """Hides known secrets in whatever a line turns into, traces included."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The line, redacted, and fit to be looked at: a log is read in a terminal."""
        return visible(self._redact(super().format(record)))


class _LogFile(logging.Handler):
    """A line that cannot be written (no space, no folder, no descriptor is left) fails nothing that it tells of; the
    next one that can be says how many are missing.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path, self._missing = path, 0

    def emit(self, record: logging.LogRecord) -> None:
        """Append it."""
        missing = f"({counted(self._missing, 'line')} of this log could not be written)\n" if self._missing else ""
        line = f"{missing}{self.format(record)}\n"
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line)
        except OSError:
            self._missing += 1
        else:
            self._missing = 0


def log_to(path: Path, redact: Callable[[str], str]) -> None:
    """Write warnings and worse to `path` from now on; the file begins with the first line."""
    ours = logging.getLogger("angelia")
    for old in list(ours.handlers):
        ours.removeHandler(old)
        old.close()
    if path.exists() and path.stat().st_size > _MOST_BYTES:
        path.replace(path.with_suffix(".log.1"))
    handler = _LogFile(path)
    handler.setFormatter(_Redacting(redact))
    ours.addHandler(handler)
    ours.setLevel(logging.INFO)
    ours.propagate = False


def log_all() -> None:
    """In a program that is Angelia's alone: what libraries, the event loop and Python warn of goes to the same file,
    with the traces of what failed in tasks, threads and finalizers for which nobody waited. It would stand on the
    terminal.
    """
    (handler,) = logging.getLogger("angelia").handlers
    logging.lastResort = handler
    logging.getLogger("py.warnings").addHandler(handler)
    logging.captureWarnings(capture=True)
    if threading.excepthook is threading.__excepthook__:  # whoever runs our commands may have hooks of their own
        threading.excepthook = _thread_faulted
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _ignored


def _thread_faulted(args: threading.ExceptHookArgs) -> None:
    name = args.thread.name if args.thread else "of no name"
    logger.error("a thread faulted: %s", name, exc_info=args.exc_value)


def _ignored(args: "sys.UnraisableHookArgs") -> None:
    logger.error("%s: %r", args.err_msg or "an exception is ignored in", args.object, exc_info=args.exc_value)
