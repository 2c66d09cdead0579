"""What measurements change: profiles, experience, shrinkage."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.estimate.calibration import BASES, Experience, family, learn
from orchestrator.estimate.profile import PROFILES
from orchestrator.model.plan import Basis


def run(card, ratio, accelerator="T4", task="train"):
    return Experience(family=family(card), accelerator=accelerator, task=task, speed_ratio=ratio)


def test_without_measurements_the_formulas_stand(smollm2):
    assert learn(()).factor(smollm2, "T4", "train") == (1.0, Basis.ROOFLINE)


def test_a_profile_overrides_the_formulas_where_it_applies(llama_8b, smollm2):
    factor, basis = learn(()).factor(llama_8b, "L4", "generate")
    assert basis is Basis.PROFILE and factor == pytest.approx(63 / 45, rel=0.05)  # 7B in fp16: 45 ms a token reported
    assert learn(()).factor(smollm2, "L4", "generate") == (1.0, Basis.ROOFLINE)
    assert learn(()).factor(llama_8b, "A10G", "generate")[1] is Basis.ROOFLINE


def test_one_run_moves_the_estimate_a_quarter_of_the_way_and_many_nearly_all(smollm2):
    once, often = learn([run(smollm2, 2.0)]), learn([run(smollm2, 2.0)] * 97)
    assert once.factor(smollm2, "T4", "train") == (pytest.approx(2.0**0.25), Basis.MEASURED)
    assert often.factor(smollm2, "T4", "train")[0] == pytest.approx(2.0**0.97)


def test_experience_is_of_one_family_accelerator_and_task(smollm2, llama_8b):
    learnt = learn([run(smollm2, 2.0)])
    for card, accelerator, task in ((llama_8b, "T4", "train"), (smollm2, "A10G", "train"), (smollm2, "T4", "encode")):
        assert learnt.factor(card, accelerator, task)[0] == pytest.approx(1.0, rel=0.01)


def test_experience_comes_on_top_of_a_profile(llama_8b):
    profile = learn(()).factor(llama_8b, "L4", "generate")[0]
    learnt = learn([run(llama_8b, 0.5, "L4", "generate")] * 3)
    assert learnt.factor(llama_8b, "L4", "generate") == (pytest.approx(profile * 0.5**0.5), Basis.MEASURED)


def test_columns_by_machine(smollm2):
    factors, codes = learn([run(smollm2, 4.0)] * 3).of(smollm2, np.array(["cpu", "T4", "T4"], dtype=object), "train")
    assert factors.tolist() == pytest.approx([1.0, 2.0, 2.0])
    assert [BASES[code] for code in codes] == [Basis.ROOFLINE, Basis.MEASURED, Basis.MEASURED]


@given(ratios=st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=20))
def test_no_run_moves_an_estimate_more_than_tenfold(ratios, smollm2_card):
    factor, _ = learn([run(smollm2_card, ratio) for ratio in ratios]).factor(smollm2_card, "T4", "train")
    assert 0.1 <= factor <= 10 and math.isfinite(factor)


def test_the_formulas_are_within_four_times_of_every_report():
    assert all(0.25 < profile.factor < 4 for profile in PROFILES)
    assert all(profile.source and profile.as_of and profile.figure for profile in PROFILES)
