"""How every entry point ends: 0 done, 1 failed, 2 the request was wrong (one line says what to change)."""

import atexit
import difflib
import functools
import os
import re
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from lft.config import register_schemas, to_dataclass
from lft.errors import RequestError, RunFailed

Job = Callable[[Any], None]

IN_PROCESS_LAUNCHER = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"


class _Tally:
    """What became of the jobs in this process."""

    def __init__(self) -> None:
        self.done = 0
        self.refused = 0
        self.failed = 0
        self._said: set[str] = set()

    def count(self, error: Exception) -> None:
        """Book a job that ended in an error."""
        if isinstance(error, RequestError):
            self.refused += 1
        else:
            self.failed += 1

    def is_news(self, error: Exception) -> bool:
        """Whether no job before has ended in the same words: what all of a sweep share is said once."""
        known = str(error) in self._said
        self._said.add(str(error))
        return not known

    @property
    def total(self) -> int:
        return self.done + self.refused + self.failed


_tally = _Tally()


def prepare_hydra() -> None:
    """Register schemas and resolvers, and let errors reach `run` instead of Hydra's own report."""
    os.environ["HYDRA_FULL_ERROR"] = "1"
    register_schemas()
    OmegaConf.register_new_resolver("scratch", _scratch_folder, use_cache=True, replace=True)


def job(function: Job) -> Callable[[DictConfig], None]:
    """Make a Hydra task of a function that takes the typed config."""

    @functools.wraps(function)
    def task(config: DictConfig) -> None:
        try:
            function(to_dataclass(config))
            _tally.done += 1
        except Exception as error:
            _tally.count(error)
            hydra = HydraConfig.get()
            if isinstance(error, RequestError | RunFailed):
                if _tally.is_news(error) or isinstance(error, RunFailed):
                    _complain(f"{error}{_job_remark(hydra)}")
            else:
                traceback.print_exc()
            # A launcher may run the jobs of a sweep in other processes: raising tells the one that counts.
            if hydra.mode is RunMode.MULTIRUN and hydra.launcher._target_ != IN_PROCESS_LAUNCHER:
                raise

    return task


def run(main: Callable[[], Any], count_jobs: bool = True) -> NoReturn:
    """Run an entry point and exit with the code that tells what happened.

    Args:
        main: The entry point.
        count_jobs: Whether to say at the end how many jobs of several are done.
    """
    try:
        main()
    except RequestError as error:
        if not _tally.total:
            _refuse(str(error))
    except (HydraException, OmegaConfBaseException) as error:
        _refuse(_one_line(error))
    except Exception as error:
        if "Config group override" in str(error):
            _refuse("null is no option of a group; choose one of its options, such as none")
        if not _tally.total:
            traceback.print_exc()
            sys.exit(1)
    sys.exit(_conclude(count_jobs))


def _conclude(count_jobs: bool) -> int:
    if count_jobs and _tally.total > 1:
        unfinished = _tally.failed + _tally.refused
        print(f"{_tally.total} jobs: {_tally.done} done, {unfinished} not done", file=sys.stderr)
    if _tally.refused and _tally.refused == _tally.total:
        return 2
    return 1 if _tally.failed or _tally.refused else 0


def _job_remark(hydra: HydraConf) -> str:
    """Which job of a sweep a complaint is about."""
    overrides = " ".join(hydra.overrides.task)
    return f" (job {overrides})" if hydra.mode is RunMode.MULTIRUN and overrides else ""


def _refuse(message: str) -> NoReturn:
    _complain(message)
    sys.exit(2)


def _complain(message: str) -> None:
    print(f"{Path(sys.argv[0]).name}: {message}", file=sys.stderr, flush=True)


def _one_line(error: BaseException) -> str:
    """The first lines of an error and of its cause, without what only a maintainer reads."""
    if slip := _unknown_key(error):
        return slip
    text = str(error)
    if isinstance(error.__cause__, OmegaConfBaseException):
        text = f"{text.splitlines()[0]} {error.__cause__}"
    text = re.split(r"\n\s*(?:Config search path|To append|object_type|reference_type|See https)", text)[0]
    words = [word for word in text.split() if not word.endswith("_schema")]
    return " ".join(words) or type(error).__name__


def _unknown_key(error: BaseException) -> str | None:
    """What to say of a key that does not exist, naming those that do."""
    cause = error.__cause__ or error
    parent = getattr(cause, "parent_node", None)
    if not isinstance(cause, ConfigKeyError | ConfigAttributeError) or not isinstance(parent, DictConfig):
        return None
    keys = [str(key) for key in parent]
    near = difflib.get_close_matches(str(cause.key), keys, n=1)
    guess = f"did you mean {near[0]}? " if near else ""
    return f"there is no key {cause.full_key}; {guess}its neighbours are {', '.join(keys)}"


def _scratch_folder() -> str:
    """A folder for what Hydra insists on writing for a sweep; gone at the end."""
    folder = tempfile.mkdtemp(prefix="lft-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
