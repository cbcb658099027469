"""Lines for the person who watches."""

import sys

from lightning.pytorch.utilities import rank_zero_only


@rank_zero_only
def say(text: str) -> None:
    """Print a line to standard error, once however many devices train."""
    print(text, file=sys.stderr, flush=True)
