"""What is written, loaded by the programs it is meant for, computes what the model does."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM, Qwen3ForCausalLM
from twins import TINY, build, random_tokens

from lft.data import END_OF_TEXT
from lft.data.tokenizer import train_tokenizer
from lft.errors import RequestError
from lft.export.hugging_face import write_lft, write_llama, write_tokenizer
from lft.inference import Sampler, TrainedModel, decode
from lft.routing import make_schedule
from lft.runs import RunFolder

SHAPE = replace(TINY, vocab_size=300)
WORDS = "the quick brown fox jumps over the lazy dog and the quiet dog sleeps on and on"
LFT_STEPS = make_schedule("lft", SHAPE.num_blocks).num_steps


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer([WORDS], 260)


@pytest.fixture
def trained(tokenizer, tmp_path):
    def make(routing="lft", shape=SHAPE, **options):
        model = build(routing, shape, **options).eval()
        with torch.no_grad():
            for factors in model.visit_factors.values():
                factors.uniform_(0.5, 1.5, generator=torch.Generator().manual_seed(7))
        return TrainedModel(RunFolder(tmp_path / "run"), tmp_path / "weights.ckpt", model, tokenizer)

    return make


CASES = [
    ("standard", SHAPE),
    ("lft", SHAPE),
    ("loop", replace(SHAPE, qk_norm=True)),
    ("repeat", replace(SHAPE, num_kv_heads=2)),
    ("cycle", SHAPE),
    ("deep", SHAPE),
    ("lft", replace(SHAPE, conditioning="norm", conditioning_steps=LFT_STEPS)),
]
SCALED = replace(SHAPE, conditioning="scale", conditioning_steps=LFT_STEPS)


def expected_logits(trained, tokens):
    with torch.no_grad():
        return trained.model(tokens)


def assert_computes_the_same(loaded, trained):
    tokens = random_tokens(trained.model.shape)
    with torch.no_grad():
        torch.testing.assert_close(
            loaded(tokens).logits, expected_logits(trained, tokens), atol=1e-5, rtol=1e-5
        )


def assert_continues_the_same(loaded, trained):
    prompt = random_tokens(trained.model.shape)[:, :6]
    chosen = list(decode(trained.model, prompt.tolist(), 16, Sampler(temperature=0.0)))
    options = {"min_new_tokens": 16, "max_new_tokens": 16, "do_sample": False, "eos_token_id": None}
    continued = loaded.generate(prompt, attention_mask=torch.ones_like(prompt), **options)
    assert continued[:, 6:].T.tolist() == chosen


@pytest.mark.parametrize(("routing", "shape"), CASES)
def test_a_llama_folder_is_a_stock_model_of_as_many_layers_as_steps(trained, tmp_path, routing, shape):
    run = trained(routing, shape)
    write_llama(run, tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert type(loaded) is (Qwen3ForCausalLM if shape.qk_norm else LlamaForCausalLM)
    assert len(loaded.model.layers) == run.model.schedule.num_steps
    assert_computes_the_same(loaded, run)
    assert_continues_the_same(loaded, run)


@pytest.mark.parametrize(("routing", "shape"), [*CASES, ("lft", SCALED)])
def test_an_lft_folder_stores_each_block_once(trained, tmp_path, routing, shape):
    run = trained(routing, shape)
    write_lft(run, tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path, trust_remote_code=True)
    stored = sum(parameter.numel() for parameter in loaded.parameters())
    own = sum(parameter.numel() for parameter in run.model.parameters())
    # With gains of its own a step has its own pair of norms; the block's and the gains are multiplied.
    folded = 2 * shape.d_model * shape.num_blocks if shape.conditioning == "norm" else 0
    assert stored == own - folded
    assert (tmp_path / "model.safetensors").stat().st_size < 4 * stored + 20_000
    assert_computes_the_same(loaded, run)
    assert_continues_the_same(loaded, run)


def test_an_lft_folder_trains_and_saves_as_any_model(trained, tmp_path):
    run = trained()
    write_lft(run, tmp_path / "first")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "first", trust_remote_code=True)
    tokens = random_tokens(SHAPE)
    loaded(tokens, labels=tokens).loss.backward()
    with torch.no_grad():
        for parameter in loaded.parameters():
            parameter -= 0.1 * parameter.grad
    loaded.save_pretrained(tmp_path / "second")
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "second", trust_remote_code=True)
    with torch.no_grad():
        assert torch.equal(again(tokens).logits, loaded(tokens).logits)
        assert not torch.allclose(again(tokens).logits, expected_logits(run, tokens))


def test_stock_layers_have_no_place_for_scaled_updates(trained, tmp_path):
    with pytest.raises(RequestError, match=r"format=llama has no place for .*=scale; use format=lft"):
        write_llama(trained(shape=SCALED), tmp_path)


@pytest.mark.slow
def test_onnx_stores_each_block_once_and_takes_any_size():
    # In a process of its own: the shape checks of the tests refuse the exporter's symbolic sizes.
    script = Path(__file__).with_name("onnx_models.py")
    subprocess.run([sys.executable, str(script)], check=True)


def test_the_tokenizer_encodes_as_in_training(trained, tokenizer, tmp_path):
    write_tokenizer(trained(), tmp_path)
    exported = AutoTokenizer.from_pretrained(tmp_path)
    for text in (WORDS, f"a text that spells {END_OF_TEXT} itself", "  two  spaces\n\tü 汉 "):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert exported(text).input_ids == ids
        assert exported.decode(ids) == text
    assert exported.eos_token_id == tokenizer.token_to_id(END_OF_TEXT)


def test_a_tokenizer_that_puts_a_token_in_front_does_so_no_more(trained, tmp_path):
    from tokenizers import Tokenizer, processors

    run = trained()
    fronted = Tokenizer.from_str(run.tokenizer.to_str())
    end = (END_OF_TEXT, fronted.token_to_id(END_OF_TEXT))
    fronted.post_processor = processors.TemplateProcessing(single=f"{END_OF_TEXT} $A", special_tokens=[end])
    write_tokenizer(replace(run, tokenizer=fronted), tmp_path)
    assert AutoTokenizer.from_pretrained(tmp_path)("the").input_ids == fronted.encode("the").ids[1:]


def test_the_modelling_file_needs_nothing_of_ours():
    import lft.export.modeling_lft as modelling

    lines = Path(modelling.__file__).read_text().splitlines()
    imports = {line.split()[1] for line in lines if line.startswith(("import ", "from "))}
    assert imports == {"torch", "transformers"}
