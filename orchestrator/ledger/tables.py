"""The ledger's tables. Times are ISO 8601 UTC text (sortable), money is exact decimal text in USD.

Changing a table here needs a migration in `migrations/versions`; a test compares the two.
"""

from sqlalchemy import JSON, Boolean, Column, Float, ForeignKey, Index, Integer, MetaData, String, Table, Text

from orchestrator.ledger.columns import DecimalText

metadata = MetaData()

node_intervals = Table(
    "node_intervals",
    metadata,
    Column("node_id", String, primary_key=True),
    Column("started_at", String, primary_key=True),
    Column("ended_at", String),
    Column("end_reason", String, nullable=False),
    Column("instance_type", String, nullable=False),
    Column("accelerator", String),
    Column("market", String, nullable=False),
    Column("zone", String, nullable=False),
    Column("price_usd_per_hour", DecimalText, nullable=False),
    Column("on_demand_usd_per_hour", DecimalText, nullable=False),
    Column("emulated", Boolean, nullable=False),
)

catalogs = Table(
    "catalogs",
    metadata,
    Column("hash", String, primary_key=True),
    Column("text", Text, nullable=False),
    Column("file", String, nullable=False),
    Column("base_dir", String, nullable=False),
)

applied = Table(
    "applied",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", String, nullable=False),
    Column("catalog_hash", String, ForeignKey("catalogs.hash"), nullable=False),
)

runs = Table(
    "runs",
    metadata,
    Column("run_id", String, primary_key=True),
    Column("job", String, nullable=False, index=True),
    Column("kind", String, nullable=False),
    Column("state", String, nullable=False, index=True),
    Column("created_at", String, nullable=False),
    Column("ended_at", String),
    Column("scheduled_for", String),
    Column("catalog_hash", String, ForeignKey("catalogs.hash"), nullable=False),
    Column("entrypoint", Text, nullable=False),
    Column("runtime_env_json", Text, nullable=False),
    Column("emulated", Boolean, nullable=False),
    Column("reason", Text, nullable=False),
)

attempts = Table(
    "attempts",
    metadata,
    Column("run_id", String, ForeignKey("runs.run_id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("submission_id", String, nullable=False, index=True),
    Column("state", String, nullable=False),
    Column("planned_at", String, nullable=False),
    Column("not_before", String),
    Column("submitted_at", String),
    Column("began_at", String),
    Column("ended_at", String),
    Column("pending_since", String),
    Column("offer", String, nullable=False),
    Column("selector", JSON, nullable=False),
    Column("reason", Text, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("message", Text, nullable=False),
    Column("job", String, nullable=False, index=True),
    Column("run_id", String, nullable=False, index=True),
    Column("node_id", String, nullable=False),
    Column("data", JSON, nullable=False),
    sqlite_autoincrement=True,
)

actions = Table(
    "actions",
    metadata,
    Column("id", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("state", String, nullable=False),
    Column("planned_at", String, nullable=False),
    Column("tried_at", String),
    Column("done_at", String),
    Column("tries", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Index("actions_by_kind", "kind", "state"),
)

schedule_marks = Table(
    "schedule_marks",
    metadata,
    Column("job", String, primary_key=True),
    Column("cron", String, nullable=False),
    Column("timezone", String, nullable=False),
    Column("after", String, nullable=False),
)

pool_failures = Table(
    "pool_failures",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("offer", String, nullable=False),
    Column("at", String, nullable=False, index=True),
    Column("waited_s", Float, nullable=False),
)

uses = Table(
    "uses",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("job", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("consumer", String, nullable=False, index=True),
    Column("node_id", String, nullable=False, index=True),
    Column("since", String, nullable=False),
    Column("until", String, nullable=False),
    Column("still", Boolean, nullable=False, index=True),
)
