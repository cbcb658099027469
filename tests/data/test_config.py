"""What a request for data may say."""

import subprocess
import sys

import pytest

from lft.data import SampleConfig
from lft.errors import RequestError


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("validation_fraction", 0.0),
        ("validation_fraction", 1.0),
        ("vocab_size", 256),
        ("vocab_size", 65_537),
        ("validation_tokens", 0),
        ("train_tokens", 0),
        ("tokenizer_bytes", 0),
        ("shard_tokens", 0),
        ("loader_workers", -1),
    ],
)
def test_a_number_out_of_range_is_named(key, value):
    with pytest.raises(RequestError, match=f"data.{key}={value}"):
        SampleConfig(**{"name": "sample", "validation_fraction": 0.1, key: value})


def test_importing_the_package_loads_no_heavy_library():
    heavy = {"torch", "datasets", "tokenizers", "pyarrow", "pandas", "rich", "omegaconf", "lightning"}
    script = f"import sys, lft.data; print(sorted({heavy} & set(sys.modules)))"
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == "[]"
