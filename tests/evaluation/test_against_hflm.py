"""Every task, text and continuation as lm-eval's own class for models of transformers has them."""

from pathlib import Path

import pytest
from lm_eval.api.instance import Instance
from lm_eval.evaluator import evaluate
from lm_eval.tasks import TaskManager

from lft.data import END_OF_TEXT
from lft.evaluation.harness import HarnessTask
from lft.evaluation.harness_model import HarnessModel
from lft.evaluation.local_files import LOCAL_FILES, file_definitions
from lft.evaluation.scorer import Scorer
from lft.export.formats import FORMATS
from lft.export.hugging_face import write_tokenizer
from lft.inference import load_trained
from lft.runs import find_runs


@pytest.fixture(scope="module")
def peers(trained_runs, tmp_path_factory):
    """Each run with lm-eval's own model class over the folder exported from it."""
    from lm_eval.models.huggingface import HFLM

    found = {}
    for folder in find_runs(trained_runs):
        trained = load_trained(folder.path)
        exported = tmp_path_factory.mktemp("exported") / folder.name
        exported.mkdir()
        FORMATS["llama"].write(trained, exported)
        write_tokenizer(trained, exported)
        peer = HFLM(
            pretrained=str(exported), device="cpu", dtype="float32", batch_size=4, softmax_dtype="float64"
        )
        found[folder.name.split("-")[0]] = (trained, peer)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["standard", "lft"])
@pytest.mark.parametrize("task", list(LOCAL_FILES))
def test_every_task_scores_as_with_hflm(peers, settings, arm, task):
    trained, peer = peers[arm]
    ours = HarnessTask(task, settings).ask(Scorer(trained, settings))
    with file_definitions(task, Path(settings.folder), 0) as folder:
        loaded = TaskManager(include_path=folder, include_defaults=False).load([task])
    for definition in loaded["tasks"].values():
        definition.set_config("num_fewshot", 0)
        definition.set_fewshot_seed(1234)
    theirs = evaluate(peer, loaded, bootstrap_iters=0)
    samples = {
        (name, sample["doc_id"]): sample for name, logged in theirs["samples"].items() for sample in logged
    }
    assert len(samples) == len(ours.items)
    for item in ours.items:
        sample = samples[item["subtask"], item["item"]]
        expected = [answer[0] for answer in sample["filtered_resps"]]
        assert item["log_probabilities"] == pytest.approx(expected, abs=1e-4)
        assert item["metrics"] == pytest.approx({name: sample[name] for name in sample["metrics"]}, abs=1e-4)
    for name, result in theirs["results"].items():
        for metric, value in result.items():
            if metric.endswith(",none") and "stderr" not in metric:
                assert ours.facts["results"][name][metric] == pytest.approx(value, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["standard", "lft"])
def test_texts_and_continuations_are_those_of_hflm(peers, settings, arm):
    trained, peer = peers[arm]
    model = HarnessModel(Scorer(trained, settings))
    texts = ["the quick fox " * 60, "jumps over", "potions mix in a tower " * 9]
    rolling = [Instance("loglikelihood_rolling", {}, (text,), 0) for text in texts]
    assert model.loglikelihood_rolling(rolling) == pytest.approx(
        peer.loglikelihood_rolling(rolling), abs=1e-3
    )
    options = {"until": ["z", "\n\n"], "max_gen_toks": 24, "do_sample": False}
    asked = [Instance("generate_until", {}, (text, options), 0) for text in [*texts, "x"]]
    assert model.generate_until(asked) == [text.split(END_OF_TEXT)[0] for text in peer.generate_until(asked)]
    assert model.truncated[texts[0],] > 0
