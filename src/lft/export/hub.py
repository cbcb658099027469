"""Exported folders on the Hugging Face Hub."""

from pathlib import Path

from huggingface_hub import HfApi
from huggingface_hub.errors import LocalTokenNotFoundError

from lft.errors import RequestError


def check_account() -> HfApi:
    """The Hub, once it knows who is asking.

    Raises:
        RequestError: It cannot be reached, or no account is configured.
    """
    hub = HfApi()
    try:
        hub.whoami()
    except LocalTokenNotFoundError as error:
        raise RequestError(
            "no account of the Hub is configured; run `hf auth login`, or leave push out"
        ) from error
    # Its client, and the client's own, raise what they happen to raise.
    except Exception as error:
        raise RequestError(f"the Hub does not answer ({_first_line(error)}); leave push out") from error
    return hub


def push(hub: HfApi, folder: Path, repository: str) -> str:
    """Upload a folder to a repository, which is made private when it is new; the address of the upload.

    Raises:
        RequestError: The Hub refuses.
    """
    try:
        hub.create_repo(repository, private=True, exist_ok=True)
        return str(hub.upload_folder(repo_id=repository, folder_path=folder))
    except Exception as error:
        raise RequestError(
            f"{folder} is written, but push={repository} failed ({_first_line(error)}); "
            "upload the folder with `hf upload`"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
