"""Modal's errors in the port's words."""

from collections.abc import Iterator
from contextlib import contextmanager

from angelia.core.text import clean, one_line
from angelia.sandboxes.port import AccessRefused, SandboxError, SandboxGone, SandboxMissing, Unreachable


@contextmanager
def plain_words(deed: str) -> Iterator[None]:
    """`deed` completes "Modal could not …".

    Raises:
        AccessRefused: there is no token, or it is not taken.
        SandboxMissing: what was asked for cannot be had: an image that cannot be built, a quota that is used up.
        SandboxGone: the sandbox has ended, or there is none.
        Unreachable: the service does not answer.
        SandboxError: anything else that Modal's SDK says.
    """
    import modal.exception as said

    try:
        yield
    except (said.AuthError, said.PermissionDeniedError) as error:
        raise AccessRefused(
            f"Modal does not let us in: {_words(error)}.",
            then="Run `modal setup`, or set MODAL_TOKEN_ID and MODAL_TOKEN_SECRET.",
        ) from error
    except (said.NotFoundError, said.ConflictError, said.SandboxTerminatedError, said.SandboxTimeoutError) as error:
        raise SandboxGone(
            f"The sandbox at Modal is not there any more: {_words(error)}.", then="The next command starts it again."
        ) from error
    except said.AlreadyExistsError as error:
        raise SandboxGone("Somebody else has just made this sandbox.", then="Try again.") from error
    except (said.ResourceExhaustedError, said.ImageBuildError, said.InvalidError, said.ExecutionError) as error:
        raise SandboxMissing(
            f"Modal could not {deed}: {_words(error)}.",
            then="Look at the image, at [sandbox.modal], and at what your account may use (modal.com).",
        ) from error
    except (said.ConnectionError, said.ServiceError, said.InternalError, said.ClientClosed, OSError) as error:
        raise Unreachable(
            f"Modal does not answer: {_words(error)}.", then="Try again; status.modal.com tells."
        ) from error
    except said.Error as error:
        raise SandboxError(f"Modal could not {deed}: {_words(error)}.") from error


def _words(error: Exception) -> str:
    return one_line(clean(str(error)), 400).strip().rstrip(".") or type(error).__name__
