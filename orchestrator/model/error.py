"""The few errors the shell raises; each says what happened, why, and what to do."""


class OrchestratorError(Exception):
    """Base. `exit_code` is what the command line ends with."""

    exit_code = 1

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(f"{what} {fix}".strip())
        self.what = what
        self.fix = fix


class InputError(OrchestratorError):
    """The user's input cannot be used; nothing was started."""

    exit_code = 2


class OperationError(OrchestratorError):
    """Something failed at run time."""
