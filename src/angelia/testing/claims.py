"""How a conformance kit says that a port's promise is broken."""


class CheckFailed(AssertionError):
    """A provider, sandbox or channel does not keep its port's promise; the message says which."""


def expect(true: bool, otherwise: str) -> None:
    """Fail with a sentence."""
    if not true:
        raise CheckFailed(otherwise)
