"""A trained model as its run folder holds it: weights, route and tokenizer."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from lft.costs import ModelShape
from lft.data import load_tokenizer
from lft.errors import RequestError
from lft.model import Transformer
from lft.routing import Schedule
from lft.runs import RunFolder, file_sha256, find_runs, recorded_checksum

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True)
class TrainedModel:
    """A model ready for use.

    Attributes:
        folder: The run it comes from.
        checkpoint: The file of its weights.
        model: The network, with the schedule it was trained with at that point.
        tokenizer: The tokenizer of its training text.
    """

    folder: RunFolder
    checkpoint: Path
    model: Transformer
    tokenizer: "Tokenizer"

    @property
    def tokens(self) -> int:
        """Training tokens up to the checkpoint."""
        return _tokens_of(self.checkpoint)


def load_trained(location: str | Path, checkpoint: str = "last") -> TrainedModel:
    """Read the model of a run.

    Args:
        location: A run folder.
        checkpoint: `last`, or the training tokens of a milestone.

    Raises:
        RequestError: There is not exactly one run, or it has no such checkpoint, or a file is damaged.
    """
    folder = _only_run(location)
    path = _find_checkpoint(folder, checkpoint)
    record = folder.read("run.json")
    shape = ModelShape(**record["model"])
    model = Transformer(shape, _schedule_at(record, _tokens_of(path)))
    model.load_state_dict(_read_weights(path))
    return TrainedModel(folder, path, model.eval(), _read_tokenizer(folder, record))


def milestones(folder: RunFolder) -> dict[int, Path]:
    """The checkpoints of a run by their training tokens, in their order.

    Raises:
        RequestError: There is none yet.
    """
    kept = {_tokens_of(path): path for path in sorted(folder.checkpoints.glob("tokens-*.ckpt"))}
    if not kept:
        raise RequestError(f"{folder.path} has no checkpoint of a milestone yet; train it further")
    return kept


def choose_milestones(folder: RunFolder, checkpoints: str) -> list[int]:
    """The training tokens of the checkpoints asked for.

    Args:
        folder: The run.
        checkpoints: `last`, `all`, or training tokens, comma-separated.

    Raises:
        RequestError: The run has no such checkpoint.
    """
    if checkpoints == "all":
        return list(milestones(folder))
    return [_tokens_of(_find_checkpoint(folder, name, "checkpoints")) for name in checkpoints.split(",")]


def checkpoint_sha256(path: Path) -> str:
    """The SHA-256 sum of a checkpoint.

    Raises:
        RequestError: It is not the sum that was written down when the checkpoint was saved.
    """
    found = file_sha256(path)
    if recorded_checksum(path) not in (None, found):
        raise RequestError(
            f"{path} is not the file that was saved: its sha256 is not that of {path.name}.sha256; "
            "restore it or use another checkpoint="
        )
    return found


def _only_run(location: str | Path) -> RunFolder:
    folders = find_runs(location, key="run")
    if len(folders) > 1:
        names = ", ".join(folder.name for folder in folders[:3])
        raise RequestError(f"{location} holds {len(folders)} runs ({names}, ...); name one of them")
    return folders[0]


def _find_checkpoint(folder: RunFolder, checkpoint: str, key: str = "checkpoint") -> Path:
    kept = milestones(folder)
    if checkpoint == "last":
        return kept[max(kept)]
    tokens = int(checkpoint) if checkpoint.isdecimal() else -1
    if tokens not in kept:
        raise RequestError(
            f"{key}={checkpoint} is not there; choose last or one of {', '.join(map(str, kept))}"
        )
    return kept[tokens]


def _tokens_of(path: Path) -> int:
    return int(path.stem.removeprefix("tokens-"))


def _schedule_at(record: dict[str, Any], tokens: int) -> Schedule:
    schedule = Schedule.from_order([block - 1 for block in record["schedule"]], record["num_blocks"])
    early_tokens = record["plan"]["early_steps"] * record["plan"]["tokens_per_step"]
    # A run whose feedback starts late ran the early order up to there.
    return schedule.without_revisits() if tokens <= early_tokens else schedule


def _read_weights(path: Path) -> dict[str, torch.Tensor]:
    checkpoint_sha256(path)
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
    # torch raises what its reader and zip happen to raise.
    except Exception as error:
        raise RequestError(
            f"{path} cannot be read ({type(error).__name__}: {error}); use another checkpoint="
        ) from error
    return {name.removeprefix("model."): tensor for name, tensor in state.items()}


def _read_tokenizer(folder: RunFolder, record: dict[str, Any]) -> "Tokenizer":
    prepared = Path(folder.read("config.json")["paths"]["prepared"]) / record["data"]["name"]
    candidates = [folder.tokenizer, prepared / "tokenizer.json"]
    path = next((path for path in candidates if path.is_file()), candidates[0])
    tokenizer = load_tokenizer(path)
    if file_sha256(path) != record["data"]["tokenizer_sha256"]:
        raise RequestError(f"{path} is not the tokenizer that {folder.path} was trained with; restore it")
    return tokenizer
