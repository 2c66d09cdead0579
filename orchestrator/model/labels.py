"""Node label keys and values, shared by node types, selectors and the ledger. `ray.io/*` keys are Ray's own."""

ACCELERATOR_TYPE = "ray.io/accelerator-type"
MARKET_TYPE = "ray.io/market-type"
ZONE = "ray.io/availability-zone"
REGION = "ray.io/availability-region"
INSTANCE_TYPE = "orchestrator/instance-type"
EMULATED = "orchestrator/emulated"
SUBCLUSTER = "ray-subcluster"
"""Ray Train and Data leave nodes with this label out of their accounting.

Source: Ray 2.60 `ray/data/_internal/cluster_autoscaler/default_autoscaling_coordinator.py`.
"""

SERVE_SUBCLUSTER = "serve"

POOL = "orchestrator/pool"
"""`work` or `serve`: train and batch select their own nodes by equality ("!serve" would confuse Data's accounting)."""

WORK_POOL = "work"
SERVE_POOL = "serve"
