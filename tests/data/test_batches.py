"""The order of batches: the same for everyone who shares a seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lft.data import PackedSequences, SequenceOrder, TokenStream
from lft.errors import RequestError

ORDERS = st.builds(SequenceOrder, st.integers(1, 40), st.integers(1, 60), st.integers(0, 3))


def run_of(order: SequenceOrder, steps: int) -> np.ndarray:
    return np.concatenate([order.batch(step) for step in range(steps)])


@given(ORDERS)
def test_each_epoch_holds_each_sequence_once(order):
    steps = -(-3 * order.num_sequences // order.batch_sequences)
    epochs = run_of(order, steps)[: 3 * order.num_sequences].reshape(3, order.num_sequences)
    assert (np.sort(epochs, axis=1) == np.arange(order.num_sequences)).all()


@given(ORDERS, st.integers(0, 20))
def test_a_restart_continues(order, step):
    restarted = SequenceOrder(order.num_sequences, order.batch_sequences, order.seed)
    expected = run_of(order, step + 1)[-order.batch_sequences :]
    assert (restarted.batch(step) == expected).all()


@given(ORDERS, st.integers(0, 20))
def test_the_epoch_is_where_the_batch_begins(order, step):
    assert order.epoch(step) == len(run_of(order, step) if step else []) // order.num_sequences


@given(st.integers(0, 9), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_devices_and_accumulation_only_divide_the_batch(step, micro_steps, world_size, sequences):
    order = SequenceOrder(17, micro_steps * world_size * sequences, seed=5)
    parts = [
        order.micro_batch(step, micro_step, micro_steps, rank, world_size)
        for micro_step in range(micro_steps)
        for rank in range(world_size)
    ]
    assert all(len(part) == sequences for part in parts)
    assert (np.concatenate(parts) == order.batch(step)).all()


def test_a_batch_that_cannot_be_divided_is_refused():
    with pytest.raises(RequestError, match=r"10 sequences .* 4 devices times 1 .*optimizer.batch_tokens"):
        SequenceOrder(100, 10, 0).micro_batch(0, 0, 1, 0, 4)


def test_seeds_and_epochs_differ():
    first = SequenceOrder(1000, 1000, seed=0)
    assert (first.batch(0) != first.batch(1)).any()
    assert (first.batch(0) != SequenceOrder(1000, 1000, seed=1).batch(0)).any()


def test_the_order_is_pinned():
    """Runs resumed or compared across versions rely on this very order."""
    assert SequenceOrder(10, 5, seed=0).batch(0).tolist() == [4, 6, 2, 7, 3]


@pytest.fixture
def stream(tmp_path):
    """The tokens 0 to 99 in three shards."""
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path, tokens in zip(paths, np.split(np.arange(100, dtype="<u2"), [10, 45]), strict=True):
        path.write_bytes(tokens.tobytes())
    return TokenStream("training text", paths)


@pytest.mark.parametrize("context_length", [1, 7, 33, 99])
def test_sequences_hold_context_and_target(stream, context_length):
    sequences = PackedSequences(stream, context_length)
    assert len(sequences) == 99 // context_length
    rows = sequences.batch(np.arange(len(sequences)))
    assert rows.dtype == np.int64 and rows.shape == (len(sequences), context_length + 1)
    assert rows[:, :-1].ravel().tolist() == list(range(len(sequences) * context_length))
    assert rows[:, 1:].ravel().tolist() == list(range(1, len(sequences) * context_length + 1))
    assert (np.stack(sequences.__getitems__([0, len(sequences) - 1])) == rows[[0, -1]]).all()


def test_there_is_no_sequence_beyond_the_last(stream):
    with pytest.raises(IndexError):
        PackedSequences(stream, 33)[3]


def test_a_text_shorter_than_one_sequence_is_refused(stream):
    with pytest.raises(RequestError, match=r"training text has 100 tokens.*=100 takes 101; lower scale"):
        PackedSequences(stream, 100)
