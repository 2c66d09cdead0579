"""Embeddings and classifiers: one pass a request."""

import pytest

from orchestrator.estimate import encoding
from orchestrator.estimate.device import device
from orchestrator.estimate.encoding import Encoder
from orchestrator.model.card import Dtype


def test_flop_of_a_request_leave_out_the_embedding(classifier):
    blocks = 12 * 6 * 512**2
    assert blocks < classifier.params / 2
    assert encoding.request_flop(classifier, 64) == pytest.approx(2 * blocks * 64 + 4 * 6 * 512 * 64**2)


def test_blocks_never_exceed_the_parameters(smollm2):
    assert encoding.request_flop(smollm2, 1) <= 2 * smollm2.params + 4 * 30 * 576


def test_16_vcpus_carry_the_reported_850_requests_a_second(classifier, machine):
    # Reported: 16 vCPU, 850 req/s, p99 110 ms.
    encoder = Encoder(card=classifier, device=device(machine("c7i.4xlarge"), Dtype.BF16), tokens=64)
    assert 850 < encoding.requests_per_s(encoder, 32) < 4 * 850
    assert encoding.latency_p99_s(encoder, 32) < 0.110


def test_larger_batches_carry_more_and_take_longer(classifier, machine):
    encoder = Encoder(card=classifier, device=device(machine("c6i.large"), Dtype.FP32), tokens=64)
    times = [encoding.latency_p99_s(encoder, batch) for batch in encoding.BATCH_SIZES]
    rates = [encoding.requests_per_s(encoder, batch) for batch in encoding.BATCH_SIZES]
    assert times == sorted(times) and rates == sorted(rates)
