"""The one exception that means: the request was wrong, and here is what to change."""


class RequestError(Exception):
    """A request that cannot be carried out as asked.

    The message is a single line for a person: what is wrong and what to change.
    Entry points print it to standard error and exit with code 2.
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class RunFailed(Exception):
    """Work that broke off after its start; the folder of a run that trained holds the traceback.

    Entry points print the message as one line and exit with code 1.
    """
