"""Tokenizers: exact, of the size asked for, and refused when they lose anything."""

import json

import pytest
from hypothesis import given, strategies
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from lft.data import END_OF_TEXT, load_tokenizer, token_bytes
from lft.data.tokenizer import check_tokenizer, is_lossless, train_tokenizer
from lft.errors import RequestError

CORPUS = [f"the cat number {index} sat on the mat {index * 7919}, then it left" for index in range(200)]
TRAINED = train_tokenizer(CORPUS, 300)


def altered(**changes: object) -> Tokenizer:
    """The trained tokenizer with some parts replaced."""
    tokenizer = Tokenizer.from_str(TRAINED.to_str())
    tokenizer.encode_special_tokens = True
    for part, value in changes.items():
        setattr(tokenizer, part, value)
    return tokenizer


def test_training_yields_the_size_asked_for():
    assert TRAINED.get_vocab_size() == 300
    check_tokenizer(TRAINED, 300, "trained")


def test_training_twice_yields_the_same():
    assert train_tokenizer(iter(CORPUS), 300).to_str() == TRAINED.to_str()


def test_too_little_text_names_the_size_that_fits():
    with pytest.raises(RequestError, match=r"data.vocab_size=300.*set data.vocab_size=259"):
        train_tokenizer(["aaa"], 300)
    assert train_tokenizer(["aaa"], 259).get_vocab_size() == 259


@given(strategies.text())
def test_every_text_comes_back_and_every_byte_is_counted(text):
    assert is_lossless(TRAINED, text)


def test_text_that_spells_the_end_of_text_is_text():
    text = f"a{END_OF_TEXT}b"
    ids = TRAINED.encode(text).ids
    assert TRAINED.token_to_id(END_OF_TEXT) not in ids
    assert TRAINED.decode(ids) == text


def test_the_end_of_text_stands_for_no_bytes():
    counts = token_bytes(TRAINED)
    assert counts.shape == (300,)
    assert counts[TRAINED.token_to_id(END_OF_TEXT)] == 0
    assert sorted(counts)[1] == 1


def test_a_loaded_tokenizer_encodes_as_before(tmp_path):
    path = tmp_path / "tokenizer.json"
    cutting = altered()
    cutting.enable_truncation(3)
    cutting.enable_padding(length=50)
    cutting.save(str(path))
    text = f"the cat {END_OF_TEXT}"
    assert load_tokenizer(path).encode(text).ids == TRAINED.encode(text).ids


def test_another_size_names_the_one_that_fits():
    with pytest.raises(RequestError, match=r"given has 300 tokens.*data.vocab_size=300 fits"):
        check_tokenizer(TRAINED, 3072, "given")


def test_no_end_of_text_is_refused():
    content = json.loads(TRAINED.to_str().replace("endoftext", "eos"))
    with pytest.raises(RequestError, match=r"no token <.endoftext.>"):
        check_tokenizer(Tokenizer.from_str(json.dumps(content)), 300, "given")


@pytest.mark.parametrize(
    "changes",
    [
        {"normalizer": normalizers.Lowercase()},
        {"normalizer": normalizers.NFC()},
        {"normalizer": normalizers.NFKC()},
        {"normalizer": normalizers.Strip()},
        {"pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=True)},
    ],
)
def test_what_changes_text_is_refused(changes):
    with pytest.raises(RequestError, match="does not give a text back"):
        check_tokenizer(altered(**changes), 300, "given")


def test_added_tokens_that_swallow_spaces_are_refused():
    tokenizer = altered()
    tokenizer.add_tokens([AddedToken("two", lstrip=True, rstrip=True)])
    tokenizer.add_tokens([AddedToken("Two", lstrip=True, rstrip=True)])
    with pytest.raises(RequestError, match="does not give a text back"):
        check_tokenizer(tokenizer, 302, "given")


def test_added_tokens_count_their_own_bytes():
    tokenizer = altered()
    tokenizer.add_tokens([AddedToken("é and")])
    check_tokenizer(tokenizer, 301, "given")
    assert token_bytes(tokenizer)[300] == 6


def test_what_is_not_byte_level_is_refused():
    words = {"cat": 0, "[UNK]": 1, END_OF_TEXT: 2}
    by_word = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    by_word.pre_tokenizer = pre_tokenizers.Whitespace()
    missing = Tokenizer(models.BPE({"a": 0, END_OF_TEXT: 1}, []))
    missing.pre_tokenizer, missing.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    for tokenizer, size in ((by_word, 3), (missing, 2)):
        with pytest.raises(RequestError, match="not byte-level"):
            check_tokenizer(tokenizer, size, "given")


def test_a_split_before_the_byte_level_is_fine():
    split = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(False)])
    bos = processors.TemplateProcessing(single=f"{END_OF_TEXT} $A", special_tokens=[(END_OF_TEXT, 0)])
    check_tokenizer(altered(pre_tokenizer=split, post_processor=bos), 300, "given")


def test_files_that_are_no_tokenizer(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(RequestError, match=r"is not a tokenizer.json"):
        load_tokenizer(tmp_path / "tokenizer.json")
    with pytest.raises(RequestError, match=r"cannot read the tokenizer .*data.tokenizer="):
        load_tokenizer(tmp_path / "missing.json")
