"""The sample order: every sample once an epoch, the same for everyone, resumable anywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model.error import InputError
from orchestrator.runtime.order import SampleOrder

sizes = st.integers(1, 40)
seeds = st.integers(0, 2**32 - 1)


@given(size=sizes, seed=seeds, epochs=st.integers(1, 3))
def test_every_epoch_visits_every_sample_once(size, seed, epochs):
    order = SampleOrder(size, seed)
    for _ in range(epochs):
        assert sorted(order.take(size)) == list(range(size))


@given(size=sizes, seed=seeds, first=st.integers(0, 100), second=st.integers(0, 100))
def test_resumes_in_the_same_order(size, seed, first, second):
    whole = SampleOrder(size, seed).take(first + second)
    before = SampleOrder(size, seed)
    assert before.take(first) == whole[:first]
    after = SampleOrder(size, seed=0)
    after.load_state_dict(before.state_dict())
    assert after.take(second) == whole[first:]


def test_epochs_and_seeds_differ():
    order = SampleOrder(50, seed=1)
    assert order.take(50) != order.take(50)
    assert SampleOrder(50, seed=1).take(50) != SampleOrder(50, seed=2).take(50)


def test_no_data_is_an_error_of_the_user():
    with pytest.raises(InputError, match="empty"):
        SampleOrder(0, seed=1)
