"""The session against a clock that tests move: when it saves, what comes back, what an interruption costs."""

import pytest
import torch

from orchestrator.model.error import InputError, OperationError
from orchestrator.runtime.order import SampleOrder
from orchestrator.runtime.snapshot import TrainableWeights
from orchestrator.runtime.train import PATIENCE_S, UNSAID_DEADLINE_S, Session

STEP_S = 3.0
TOTAL = 40


class Loop:
    """A small real training loop: dropout needs the random generator, Adam its moments, the order its position."""

    def __init__(self, world, *, interval_s=1e9, total=TOTAL, seed=5):
        torch.manual_seed(seed)
        self.world = world
        self.model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
        self.data = torch.randn(17, 3, generator=torch.Generator().manual_seed(1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.05)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.99)
        self.order = SampleOrder(len(self.data), seed)
        self.seen = []
        self.session = Session(
            interval_s=interval_s, total_steps=total, link=world, clock=world.clock, sleep=world.sleep,
            model=TrainableWeights(self.model), optimizer=self.optimizer, scheduler=self.scheduler, order=self.order,
        )  # fmt: skip

    def run(self, until_step=None):
        session = self.session
        session.restore()
        while session.step < (until_step or session.total_steps):
            indices = self.order.take(4)
            self.world.sleep(STEP_S)
            loss = self.model(self.data[indices]).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            self.seen.append((session.step, tuple(indices)))
            session.after_step(tokens=10, loss=loss.item())
        return session.done()

    def weights(self):
        return torch.cat([weight.flatten() for weight in self.model.parameters()])


def test_saves_at_the_interval_and_after_the_last_step(world):
    Loop(world, interval_s=10 * STEP_S).run()
    assert world.events("checkpoint") == [("checkpoint", step) for step in (10, 20, 30, 40)]
    assert [told["reason"] for told in world.told if told["event"] == "checkpoint"] == ["interval"] * 3 + ["last step"]


def test_reports_how_fast_it_goes(world):
    Loop(world).run(until_step=9)
    progress = [told for told in world.told if told["event"] == "progress"][1:]
    assert progress and all(told["step_time_s"] == pytest.approx(STEP_S) for told in progress)
    assert all(told["tokens_per_s"] == pytest.approx(10 / STEP_S) for told in progress)


@pytest.mark.parametrize("stop_at", [10, 13, 19, 20, 39, 40])
def test_goes_on_as_if_nothing_had_happened(new_world, stop_at):
    """Without notice the steps since the last checkpoint are repeated, with the same samples and the same result."""
    whole = Loop(new_world("whole"))
    last = whole.run()

    first = Loop(new_world(), interval_s=10 * STEP_S)
    first.run(until_step=stop_at)
    second = Loop(new_world(), interval_s=10 * STEP_S, seed=99)  # whatever it starts from must not matter
    assert second.run() == last
    assert second.seen[:1] == whole.seen[stop_at // 10 * 10 :][:1]
    assert (first.seen[: stop_at // 10 * 10] + second.seen) == whole.seen
    assert torch.equal(second.weights(), whole.weights())


@pytest.mark.parametrize("deadline_in_s", [9.0, 20.0, 60.0, None], ids=["short", "usual", "long", "unsaid"])
@pytest.mark.parametrize("save_s", [0.0, 2.0])
def test_repeats_no_step_after_a_notice(world, new_world, node_gone, deadline_in_s, save_s):
    world.notice_at = world.now + 7.4 * STEP_S
    world.deadline_in_s, world.save_s = deadline_in_s, save_s
    world.gone_at = world.notice_at + (deadline_in_s or UNSAID_DEADLINE_S)
    first = Loop(world, total=60)
    with pytest.raises(node_gone):
        first.run()
    saves = world.events("checkpoint")
    assert saves[0] == ("checkpoint", 8), "the first step after the notice saves at once"
    assert world.events("preemption-notice") == [("preemption-notice", 8)]
    assert saves[-1] == ("checkpoint", len(first.seen)), "every step that was taken is in the last checkpoint"

    second = Loop(new_world(), total=60)
    second.run()
    assert [step for step, _ in first.seen + second.seen] == list(range(60))


def test_goes_on_training_after_a_notice(world, node_gone):
    world.notice_at, world.deadline_in_s = world.now + 7.4 * STEP_S, 60.0
    world.gone_at = world.notice_at + 60.0
    loop = Loop(world)
    with pytest.raises(node_gone):
        loop.run()
    idle_s = world.gone_at - (1_000_000.0 + STEP_S * len(loop.seen))
    assert idle_s < 3 * STEP_S + 1


def test_a_notice_that_is_followed_by_nothing_costs_only_time(world):
    world.notice_at, world.deadline_in_s = world.now + 7.4 * STEP_S, 20.0
    loop = Loop(world)
    loop.run()
    assert [step for step, _ in loop.seen] == list(range(TOTAL))
    assert world.now < 1_000_000.0 + TOTAL * STEP_S + 20.0 + PATIENCE_S + 1


def test_facts_survive(world, new_world):
    first = Loop(world, interval_s=5 * STEP_S)
    first.session.facts["accuracy_before"] = 0.25
    first.run(until_step=6)
    second = Loop(new_world())
    assert second.run()["accuracy_before"] == 0.25


def test_says_what_it_resumed_from(world, new_world):
    Loop(world, interval_s=5 * STEP_S).run(until_step=6)
    assert world.events("started", "resumed") == [("started", 0)]
    later = new_world()
    Loop(later).run()
    assert later.events("started", "resumed") == [("resumed", 5)]


def test_a_finished_run_does_no_step_again(world, new_world):
    done = Loop(world).run()
    again = Loop(new_world())
    assert again.run()["step"] == done["step"]
    assert again.seen == []


def test_refuses_a_checkpoint_of_other_parts(world, new_world):
    Loop(world).run()
    later = new_world()
    session = Session(interval_s=1, total_steps=1, link=later, clock=later.clock, order=SampleOrder(17, 5))
    with pytest.raises(OperationError, match="another version"):
        session.restore()


def test_refuses_other_data(world, new_world):
    Loop(world).run()
    loop = Loop(new_world())
    loop.order.num_samples = 18
    with pytest.raises(InputError, match="18 rows, but had 17"):
        loop.session.restore()
