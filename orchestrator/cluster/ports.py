"""Loopback ports for a cluster, chosen so that nothing takes them between the choice and the use."""

import random
import socket
from collections.abc import Mapping

from orchestrator.cluster.ray_process import HOST, HeadPorts
from orchestrator.model.error import OperationError

PORT_RANGE = range(20_000, 32_000)
"""Below the ports that Linux gives to outgoing connections (32768 and up), of which a busy Ray has hundreds."""
NAMES = ("gcs", "dashboard", "agent", "client_server", "autoscaler_metrics", "api", "serve")


def choose_ports(wanted: Mapping[str, int]) -> HeadPorts:
    """The wanted ports (0 = any); OperationError when one is in use."""
    for name, port in wanted.items():
        if port and not is_free(port):
            raise OperationError(f"port {port} for {name} is in use.", f"Choose another with --{name}-port.")
    taken = {port for port in wanted.values() if port}
    candidates = iter(random.sample(PORT_RANGE, len(PORT_RANGE)))
    chosen: dict[str, int] = {}
    for name in NAMES:
        chosen[name] = wanted.get(name) or next(port for port in candidates if port not in taken and is_free(port))
    return HeadPorts(**chosen)


def is_free(port: int) -> bool:
    """Whether a server could listen on that port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
