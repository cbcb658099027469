"""Every shipped option composes into a typed config; a slip of the keyboard does not."""

import pytest
from composing import ROOT, compose_prepare, compose_train
from hydra.errors import HydraException

from lft.config import RoutingConfig, ScaleConfig, TrainConfig
from lft.data import DataConfig, FilesConfig, FineWebEduConfig, SampleConfig
from lft.errors import RequestError
from lft.planning import make_plan
from lft.routing import ROUTINGS

OPTIONS = [
    (file.parent.name, file.stem)
    for file in sorted((ROOT / "conf").glob("*/*.yaml"))
    if file.parent.name != "sweep"
]


@pytest.mark.parametrize(("group", "option"), OPTIONS)
def test_every_option_of_every_group_composes_and_plans(group, option):
    # A smoke budget is less than one step of the study's batch: it goes with its experiment.
    extra = {
        "smoke": ["experiment=smoke"],
        "files": ["data.paths=[book.txt]"],
        "explicit": ["routing.order=[1,2,3,4,5]"],
    }.get(option, [])
    config = compose_train(f"{group}={option}", *extra)
    assert isinstance(config, TrainConfig)
    assert isinstance(config.scale, ScaleConfig)
    assert isinstance(config.routing, RoutingConfig)
    assert isinstance(config.data, DataConfig)
    assert make_plan(config).steps >= 1


def test_every_routing_has_its_yaml_and_no_yaml_is_without_one():
    assert {file.stem for file in (ROOT / "conf/routing").glob("*.yaml")} == set(ROUTINGS)


@pytest.mark.parametrize(
    ("option", "kind"), [("fineweb_edu", FineWebEduConfig), ("files", FilesConfig), ("sample", SampleConfig)]
)
def test_data_options_are_of_their_own_kind(option, kind):
    extra = ["data.paths=[book.txt]"] if option == "files" else []
    assert isinstance(compose_train(f"data={option}", *extra).data, kind)
    assert isinstance(compose_prepare(f"data={option}", *extra).data, kind)


def test_a_value_that_must_be_given_is_asked_for():
    with pytest.raises(RequestError, match=r"data.paths has no value; give it as data.paths="):
        compose_train("data=files")


@pytest.mark.parametrize(
    ("addition", "key"),
    [("+foo=1", "foo"), ("+scale.depth=3", "scale.depth"), ("+sharing.x={}", "sharing.x")],
)
def test_a_key_added_that_means_nothing_is_refused(addition, key):
    with pytest.raises(RequestError, match=f"{key} is not a key of this program"):
        compose_train(addition)


def test_the_study_is_pinned():
    data = compose_train().data
    assert (data.repository, data.subset) == ("HuggingFaceFW/fineweb-edu", "sample-10BT")
    assert len(data.revision) == 40
    assert data.train_tokens == 500_000_000


@pytest.mark.parametrize("spelling", ["true", "True"])
def test_true_is_true_however_it_is_written(spelling):
    assert compose_train(f"compile={spelling}").compile == "true"


@pytest.mark.parametrize(
    "slip",
    [
        "routing.revisit=1",
        "routing=ltf",
        "scale=3m",
        "optimizer.learning_rat=1",
        "optimizer.learning_rate=fast",
        "trainer.devicez=2",
        "logger.wandb.projekt=x",
        "callbacks.progres=null",
        "seed=1.5",
        "routing.feedback_at=[a]",
        "data.paths=[x]",
        "learning_rate=1",
    ],
)
def test_a_slip_of_the_keyboard_is_an_error(slip):
    with pytest.raises(HydraException):
        compose_train(slip)
