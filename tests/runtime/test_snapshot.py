"""What a checkpoint holds: all of it comes back, and only what training changes."""

import random

import numpy as np
import pytest
import torch

from orchestrator.model.error import OperationError
from orchestrator.runtime import snapshot
from orchestrator.runtime.snapshot import TrainableWeights


@pytest.fixture
def model():
    torch.manual_seed(0)
    made = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    made[0].requires_grad_(False)
    return made


def test_random_generators_continue(tmp_path):
    random.seed(1), np.random.seed(2), torch.manual_seed(3)
    snapshot.save(tmp_path, 0, {}, {"step": 7})
    drawn = (random.random(), random.gauss(0, 1), np.random.rand(3).tolist(), torch.rand(3).tolist())
    random.seed(9), np.random.seed(9), torch.manual_seed(9)
    assert snapshot.load(tmp_path, 0, {}) == {"step": 7}
    assert (random.random(), random.gauss(0, 1), np.random.rand(3).tolist(), torch.rand(3).tolist()) == drawn


def test_a_pending_gauss_value_is_not_lost(tmp_path):
    random.seed(1)
    random.gauss(0, 1)
    snapshot.save(tmp_path, 0, {}, {})
    expected = random.gauss(0, 1)
    random.seed(2)
    snapshot.load(tmp_path, 0, {})
    assert random.gauss(0, 1) == expected


def test_only_trained_weights_are_saved_and_all_of_them_come_back(tmp_path, model):
    assert list(TrainableWeights(model).state_dict()) == ["1.weight", "1.bias"]
    snapshot.save(tmp_path, 0, {"model": TrainableWeights(model)}, {})
    saved = {name: weight.clone() for name, weight in model.named_parameters()}
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1.0)
    snapshot.load(tmp_path, 0, {"model": TrainableWeights(model)})
    assert torch.equal(model[1].weight, saved["1.weight"]) and torch.equal(model[1].bias, saved["1.bias"])
    assert torch.equal(model[0].weight, saved["0.weight"] + 1.0), "frozen weights are none of a checkpoint's business"


def test_restored_weights_are_the_ones_the_optimizer_has(tmp_path, model):
    weights = TrainableWeights(model)
    optimizer = torch.optim.SGD([model[1].weight], lr=1.0)
    snapshot.save(tmp_path, 0, {"model": weights}, {})
    snapshot.load(tmp_path, 0, {"model": weights})
    assert optimizer.param_groups[0]["params"][0] is model[1].weight


def test_other_weights_are_refused(tmp_path, model):
    snapshot.save(tmp_path, 0, {"model": TrainableWeights(model)}, {})
    model.requires_grad_(True)
    with pytest.raises(OperationError, match="other weights"):
        snapshot.load(tmp_path, 0, {"model": TrainableWeights(model)})


def test_workers_write_different_files(tmp_path):
    snapshot.save(tmp_path, 1, {}, {})
    assert [path.name for path in tmp_path.iterdir()] == ["random-1.pt"]
    snapshot.save(tmp_path, 0, {}, {"step": 1})
    assert snapshot.load(tmp_path, 5, {}) == {"step": 1}, "a new rank keeps its own generators"
