"""Tasks of lm-eval: equal to lm-eval's own definitions and to its own class for models of transformers."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import datasets
import pytest
from evaluation.items import ITEMS, QUESTIONS, write_items
from lm_eval.api.instance import Instance
from lm_eval.tasks import TaskManager

import lft.evaluation.harness as harness
from lft.errors import RequestError
from lft.evaluation import Settings
from lft.evaluation.harness import HarnessTask
from lft.evaluation.harness_items import item_rows
from lft.evaluation.harness_model import HarnessModel
from lft.evaluation.local_files import DEFINITIONS, LOCAL_FILES, file_definitions
from lft.evaluation.scorer import Scorer


def prompts(task, settings):
    """What the model is asked, and what it is asked to choose among."""
    with file_definitions(task, Path(settings.folder), settings.limit) as folder:
        loaded = TaskManager(include_path=folder, include_defaults=False).load([task])
    requests = {}
    for name, definition in loaded["tasks"].items():
        definition.set_config("num_fewshot", 0)
        definition.build_all_requests()
        requests[name] = [instance.args for instance in definition.instances]
    return requests


def test_prompts_and_choices_are_those_of_lm_eval(settings):
    assert prompts("piqa", settings)["piqa"][:2] == [
        ("Question: open a jar\nAnswer:", " turn the lid"),
        ("Question: open a jar\nAnswer:", " sing to it"),
    ]
    assert prompts("arc_easy", settings)["arc_easy"][3] == ("Question: What flies?\nAnswer:", " a cow")
    assert prompts("hellaswag", settings)["hellaswag"][1] == (
        "Carpentry: A man holds a hammer. He",
        " eats it. now.",
    )
    assert prompts("winogrande", settings)["winogrande"][:2] == [
        ("Ann helped Eve so Ann", " was glad."),
        ("Ann helped Eve so Eve", " was glad."),
    ]
    assert prompts("lambada_openai", settings)["lambada_openai"] == [
        ("the fox saw a dog and ran from the", " dog")
    ]
    assert prompts("blimp", settings)["blimp_npi_present_1"][:2] == [
        ("", " Birds sing."),
        ("", " Birds sings."),
    ]
    assert prompts("sciq", settings)["sciq"][3] == (
        "Ice is frozen.\nQuestion: What is ice?\nAnswer:",
        " water",
    )


@pytest.fixture
def hub(monkeypatch):
    """Hub datasets of the same items, in the Hub's schema."""
    asked = []

    def load_dataset(path, name=None, **options):
        asked.append(path)
        task = {"baber/piqa": "piqa", "allenai/ai2_arc": "arc_easy", "Rowan/hellaswag": "hellaswag"}[path]
        local = LOCAL_FILES[task]
        rows = [local.hub_row(row) for row in ITEMS[local.name]]
        unused = {"train": datasets.Dataset.from_list(rows), "validation": datasets.Dataset.from_list(rows)}
        return datasets.DatasetDict({**unused, local.split: datasets.Dataset.from_list(rows)})

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr(harness, "probe_dataset", lambda *_: None)
    return asked


@pytest.fixture(autouse=True)
def few_definitions(monkeypatch):
    """The definitions of the tasks at hand; reading all 14,000 takes seconds."""
    monkeypatch.setattr(harness, "all_definitions", read_few_definitions)


@cache
def read_few_definitions():
    folders = [DEFINITIONS / name for name in ("piqa", "arc", "hellaswag")]
    return TaskManager(include_path=folders, include_defaults=False)


@pytest.mark.parametrize("task", ["piqa", "arc_easy", "hellaswag"])
def test_files_and_hub_give_the_same_answers(scorer, settings, hub, task):
    from_files = HarnessTask(task, settings).ask(scorer)
    online = replace(settings, source="hub")
    from_hub = HarnessTask(task, online).ask(Scorer(scorer.trained, online))
    assert hub
    same = ("subtask", "item", "labels", "prediction", "right", "log_probabilities", "metrics", "tokens")
    for ours, theirs in zip(from_files.items, from_hub.items, strict=True):
        assert {name: ours[name] for name in same} == {name: theirs[name] for name in same}
    assert from_files.facts["version"] == from_hub.facts["version"] == {task: 1.0}


def test_a_prompt_longer_than_the_context_is_cut_or_refused(scorer, settings, tmp_path):
    long = {"goal": "walk " * 100, "sol1": "walk", "sol2": "walk on", "label": 0}
    folder = write_items(tmp_path / "long", piqa=[long, ITEMS["piqa_validation.jsonl"][0]])
    settings = replace(settings, folder=str(folder))
    answers = HarnessTask("piqa", settings).ask(scorer)
    assert [bool(item["truncated_tokens"]) for item in answers.items] == [True, False]
    assert answers.warnings == ["1 of 2 items with a context cut from the left to fit"]
    refusing = replace(settings, too_long="refuse")
    with pytest.raises(
        RequestError, match=r"piqa item 0 has .* tokens, .* more than fit the context; set eval.too"
    ):
        HarnessTask("piqa", refusing).ask(Scorer(scorer.trained, refusing))


@pytest.mark.parametrize(
    ("item", "complaint"),
    [
        (
            {"goal": "g", "sol1": "a", "sol2": "word " * 100, "label": 0},
            "piqa item 1 asks for .* tokens, more",
        ),
        (
            {"goal": "g", "sol1": "a", "sol2": "b", "label": 2},
            "piqa item 1 names 2 as right, which is none of its 2",
        ),
        ({"goal": "g", "sol1": "a", "label": 0}, "piqa_validation.jsonl line 2 has no field 'sol2'"),
    ],
)
def test_items_that_cannot_be_scored_are_named(scorer, settings, tmp_path, item, complaint):
    rows = [ITEMS["piqa_validation.jsonl"][0], item]
    settings = replace(settings, folder=str(write_items(tmp_path / "bad", piqa=rows)))
    with pytest.raises(RequestError, match=complaint):
        HarnessTask("piqa", settings).ask(scorer)


def test_items_that_the_definition_cannot_read_are_named(scorer, settings, tmp_path):
    item = {**ITEMS["hellaswag_validation.jsonl"][0], "label": "first"}
    settings = replace(settings, folder=str(write_items(tmp_path / "bad", hellaswag=[item])))
    with pytest.raises(
        RequestError, match=r"cannot load task 'hellaswag' .*hellaswag_validation.jsonl has items"
    ):
        HarnessTask("hellaswag", settings).ask(scorer)


def test_an_empty_choice_is_refused(scorer):
    request = Instance("loglikelihood", {}, ("a context", ""), 1, ("piqa", 7, 1))
    with pytest.raises(RequestError, match="piqa item 7 has an empty choice; mend or remove the item"):
        HarnessModel(scorer).loglikelihood([request])
    # lm-eval puts a space in front of a choice.
    spaced = Instance("loglikelihood", {}, ("a context", " "), 1, ("piqa", 8, 1))
    with pytest.raises(RequestError, match="piqa item 8 has an empty choice"):
        HarnessModel(scorer).loglikelihood([spaced])


def test_a_context_of_nothing_but_space_is_the_start_of_a_document(scorer):
    def ask(*pairs):
        return HarnessModel(scorer).loglikelihood([Instance("loglikelihood", {}, pair, 0) for pair in pairs])

    alone = ask((" ", "the fox"))
    assert alone == ask(("", " the fox"))
    in_a_batch = ask(("the lazy dog", " jumps over a fox"), (" ", "the fox"))[1]
    assert in_a_batch[0] == pytest.approx(alone[0][0], abs=1e-4)


def test_a_wrong_choice_that_reads_like_the_right_one_is_counted(scorer, settings, tmp_path):
    item = {"goal": "g", "sol1": "same", "sol2": "same", "label": 1}
    settings = replace(settings, folder=str(write_items(tmp_path / "twins", piqa=[item])))
    answers = HarnessTask("piqa", settings).ask(scorer)
    assert answers.warnings == ["1 of 1 items where a wrong choice reads like the right one"]


def test_items_about_one_passage_share_a_cluster_and_subtasks_are_categories(scorer, settings):
    clusters = [item["cluster"] for item in HarnessTask("hellaswag", settings).ask(scorer).items]
    assert clusters[0] == clusters[1] != clusters[2]
    categories = {item["category"] for item in HarnessTask("blimp", settings).ask(scorer).items}
    assert categories == {"blimp_adjunct_island", "blimp_npi_present_1"}


def test_only_so_many_items_of_each_task_when_limited(scorer, settings):
    limited = replace(settings, limit=1)
    answers = HarnessTask("blimp", limited).ask(Scorer(scorer.trained, limited))
    assert [item["item"] for item in answers.items] == [0, 0]


def test_names_that_do_not_exist_suggest_others(settings):
    with pytest.raises(RequestError, match="there is no task 'hellaswagg'; did you mean hellaswag"):
        HarnessTask("hellaswagg", replace(settings, source="hub")).identity()
    with pytest.raises(
        RequestError, match=r"no files for task 'helaswag'; did you mean hellaswag. else choose"
    ):
        HarnessTask("helaswag", settings).identity()
    with pytest.raises(RequestError, match="there are no files for task 'mmlu'; choose among piqa, arc_easy"):
        HarnessTask("mmlu", settings).identity()
    Path(settings.folder, "piqa_validation.jsonl").unlink()
    with pytest.raises(
        RequestError, match=r"has no piqa_validation.jsonl or .*\.gz; fetch it with make eval"
    ):
        HarnessTask("piqa", settings).identity()


def test_the_same_lines_are_the_same_data_compressed_or_not(settings, tmp_path):
    import gzip

    plain = Path(settings.folder) / "piqa_validation.jsonl"
    identity = HarnessTask("piqa", settings).identity()
    (plain.parent / "piqa_validation.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    assert HarnessTask("piqa", settings).identity() == identity


def test_an_unreachable_hub_ends_in_one_line(scorer, settings, monkeypatch):
    def refuse(*_, **__):
        raise ConnectionError("no route to host")

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", refuse)
    online = replace(settings, source="hub")
    with pytest.raises(
        RequestError, match=r"cannot reach the Hugging Face Hub for baber/piqa .*eval.source=files"
    ):
        HarnessTask("piqa", online).ask(scorer)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(datasets, "load_dataset", refuse)
    with pytest.raises(RequestError, match=r"cannot load task 'piqa' .ConnectionError: no route to host."):
        HarnessTask("piqa", online).ask(scorer)


def test_an_answer_that_is_none_of_the_choices_is_named(scorer, settings, tmp_path):
    item = {**QUESTIONS[0], "answer": -1}
    settings = replace(settings, folder=str(write_items(tmp_path / "bad", arc_easy=[item])))
    with pytest.raises(RequestError, match="ARC item a has answer -1, which is none of its 3 choices"):
        HarnessTask("arc_easy", settings).ask(scorer)


def test_an_answer_that_leaves_no_room_for_the_prompt_is_refused(scorer):
    asked = Instance("generate_until", {}, ("a prompt", {"until": ["\n"], "max_gen_toks": 128}), 0)
    with pytest.raises(
        RequestError, match="asks for up to 128 new tokens, which leaves no room in the model's"
    ):
        HarnessModel(scorer).generate_until([asked])


def test_a_task_whose_code_fails_is_named(scorer, settings, monkeypatch):
    def fail(*_, **__):
        raise TypeError("no such function")

    monkeypatch.setattr(harness, "evaluate", fail)
    with pytest.raises(RequestError, match=r"lm-eval cannot ask task 'piqa' .TypeError: no such function."):
        HarnessTask("piqa", settings).ask(scorer)


def test_settings_are_checked():
    for wrong, complaint in (
        ({"source": "web"}, "eval.source=web is not one of hub, files"),
        ({"batch_tokens": 0}, "eval.batch_tokens=0 must be 1 or more"),
        ({"long_context": float("nan")}, "eval.long_context=nan must be 1 or more"),
        ({"long_context": float("inf")}, "eval.long_context=inf must be 1 or more"),
    ):
        with pytest.raises(RequestError, match=complaint):
            Settings(**wrong)


def test_whole_texts_count_the_bytes_that_lm_eval_divides_by():
    from types import SimpleNamespace

    text, page = "a page .", "a page."
    model = SimpleNamespace(truncated={}, tokens={(text,): 4})
    sample = {
        "doc_id": 0,
        "doc": {"page": page},
        "doc_hash": "0" * 64,
        "filter": "none",
        "arguments": [(text,)],
        "resps": [[-9.0]],
        "metrics": ["bits_per_byte"],
        "bits_per_byte": (-9.0, len(page)),
    }
    task = SimpleNamespace(OUTPUT_TYPE="loglikelihood_rolling")
    (row,) = item_rows(task, "wikitext", [sample], model, is_group=False)
    assert (row["bytes"], row["log_probabilities"], row["tokens"]) == ([7], [-9.0], [4])
    assert row["output_type"] == "loglikelihood_rolling" and row["right"] is None


def test_facts_are_plain_json(scorer, settings):
    answers = HarnessTask("lambada_openai", settings).ask(scorer)
    assert json.loads(json.dumps(answers.facts)) == answers.facts
