"""Small trained runs, composed as for the tests of training."""

from training.conftest import corpus, prepared, tiny  # noqa: F401
