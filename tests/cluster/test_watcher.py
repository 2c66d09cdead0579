"""The interruption watcher: what it decides, and that neither service being away stops it."""

from datetime import UTC, datetime

import pytest

from orchestrator.cluster.metadata_client import MetadataError
from orchestrator.cluster.ray_node import DrainError
from orchestrator.cluster.watcher import Decision, Drain, Handled, Observation, RecordRebalance, Wait, decide, watch

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
AT, LATER = "2026-11-30T12:02:00Z", "2026-11-30T12:05:00Z"
QUIET = Observation(instance_id="i-1", interruption_at=None, rebalance_at=None)
TOLD = Observation(instance_id="i-1", interruption_at=AT, rebalance_at=None)
ADVISED = Observation(instance_id="i-1", interruption_at=None, rebalance_at=AT)
DRAIN = Drain(interruption_at=AT, deadline_ms=1796040120000, message="spot interruption of i-1 in 120 s")


@pytest.mark.parametrize(
    ("seen", "handled", "expected"),
    [
        pytest.param(QUIET, Handled(), Wait(), id="nothing"),
        pytest.param(TOLD, Handled(), DRAIN, id="notice"),
        pytest.param(TOLD, Handled(drained_for=AT), Wait(), id="notice-done"),
        pytest.param(TOLD, Handled(drained_for=LATER), DRAIN, id="notice-moved"),
        pytest.param(ADVISED, Handled(), RecordRebalance(rebalance_at=AT), id="rebalance"),
        pytest.param(ADVISED, Handled(rebalance_recorded=AT), Wait(), id="rebalance-done"),
        pytest.param(
            Observation(instance_id="i-1", interruption_at=AT, rebalance_at=AT),
            Handled(),
            DRAIN,
            id="both-notice-first",
        ),
        pytest.param(
            Observation(instance_id="i-1", interruption_at=AT, rebalance_at=AT),
            Handled(drained_for=AT),
            Wait(),
            id="rebalance-after-notice-is-moot",
        ),
    ],
)
def test_decide(seen: Observation, handled: Handled, expected: Decision) -> None:
    assert decide(seen, handled, NOW) == expected


def test_a_deadline_in_the_past_is_drained_all_the_same() -> None:
    late = datetime(2026, 11, 30, 12, 3, 0, tzinfo=UTC)
    decision = decide(TOLD, Handled(), late)
    assert isinstance(decision, Drain)
    assert "in 0 s" in decision.message


class FakeNode:
    """Fails as often as told, then records what was asked of it."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.calls: list[tuple[str, ...]] = []

    def drain(self, instance_id: str, deadline_ms: int, message: str) -> None:
        if self.failures:
            self.failures -= 1
            raise DrainError("GCS is away")
        self.calls.append(("drain", instance_id, str(deadline_ms)))

    def record(self, instance_id: str, kind: str, at: str) -> None:
        self.calls.append(("record", kind, at))


def run(observations: list[Observation | MetadataError], node: FakeNode) -> Handled:
    """Feeds the loop one observation per poll and stops it after the last."""
    queue = list(observations)

    def observe() -> Observation:
        seen = queue.pop(0)
        if isinstance(seen, MetadataError):
            raise seen
        return seen

    return watch(observe, node, stop=lambda: not queue, pause=lambda _: None)


def test_a_notice_is_drained_and_recorded_once() -> None:
    node = FakeNode()
    assert run([QUIET, TOLD, TOLD, TOLD], node) == Handled(drained_for=AT)
    assert node.calls == [("drain", "i-1", "1796040120000"), ("record", "interruption-notice", AT)]


def test_draining_is_repeated_until_ray_answers() -> None:
    node = FakeNode(failures=3)
    assert run([TOLD] * 5, node).drained_for == AT
    assert [call[0] for call in node.calls] == ["drain", "record"]


def test_an_absent_metadata_service_does_not_end_the_watch() -> None:
    node = FakeNode()
    away = MetadataError("no route")
    assert run([away, away, TOLD, away], node).drained_for == AT
    assert len(node.calls) == 2


def test_a_rebalance_recommendation_drains_nothing() -> None:
    node = FakeNode()
    run([ADVISED, ADVISED, TOLD], node)
    assert [call[:2] for call in node.calls] == [
        ("record", "rebalance-recommendation"),
        ("drain", "i-1"),
        ("record", "interruption-notice"),
    ]
