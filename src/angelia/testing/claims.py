"""How a conformance kit says that a room breaks a promise."""


class CheckFailed(AssertionError):
    """The room does not keep its port's promise; the message says which."""


def expect(true: bool, otherwise: str) -> None:
    """Fail with a sentence."""
    if not true:
        raise CheckFailed(otherwise)
