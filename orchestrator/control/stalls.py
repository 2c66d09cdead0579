"""Since when a service's model waits for capacity."""

from collections.abc import Sequence

from orchestrator.control.planning import Planned
from orchestrator.control.serving import Deployed
from orchestrator.control.waits import waits_in_vain
from orchestrator.control.world import WorldView
from orchestrator.model.job import ServeJob
from orchestrator.model.plan import Choice
from orchestrator.policy.observed import StalledModel
from orchestrator.runtime.serve_config import node_selector


class ServiceStalls:
    """Remembers when each wait began. Forgetting it at a restart costs at most one more wait of the same length."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str, str], str] = {}

    def observe(self, view: WorldView, planned: Planned, deployed: Deployed, at: str) -> tuple[StalledModel, ...]:
        """Deployed models for which something waits now, although they have no node of their offer yet."""
        waiting: dict[tuple[str, str, str], int] = {}
        for job in planned.catalog.jobs:
            if not isinstance(job, ServeJob):
                continue
            for part, _ in job.models:
                offer = deployed.offers.get((job.name, part))
                choice = _choice(planned, job.name, part, offer)
                if offer is not None and choice is not None and _waits(view, job.name, choice, at):
                    waiting[(job.name, part, offer)] = len(planned.offers(job.name, part)) - 1
        self._since = {key: self._since.get(key, at) for key in waiting}
        return tuple(
            StalledModel(job=job, part=part, offer=offer, since=self._since[job, part, offer], alternatives=others)
            for (job, part, offer), others in sorted(waiting.items())
        )


def _choice(planned: Planned, job: str, part: str, offer: str | None) -> Choice | None:
    placement = planned.placement(job, part)
    ranked: Sequence[Choice] = placement.candidates if placement else ()
    return next((choice for choice in ranked if choice.offer == offer), None)


def _waits(view: WorldView, app: str, choice: Choice, at: str) -> bool:
    selector = node_selector(choice)
    if not waits_in_vain(view, selector, at):
        return False
    matching = {node.node_id for node in view.nodes if selector.items() <= dict(node.labels).items()}
    served = {node for one in view.apps if one.name == app for node in one.replica_nodes}
    return not matching & served
