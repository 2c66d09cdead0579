"""First schema: nodes and their use, catalogs, runs with attempts, events, actions, schedules, failed pools."""

import sqlalchemy as sa
from alembic import op

from orchestrator.ledger.columns import DecimalText

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES = (
    "attempts",
    "runs",
    "applied",
    "catalogs",
    "events",
    "actions",
    "schedule_marks",
    "pool_failures",
    "uses",
    "node_intervals",
)
"""In an order in which they can be dropped."""


def upgrade() -> None:
    """Create all tables."""
    _nodes()
    _catalogs()
    _runs()
    _events_and_actions()


def downgrade() -> None:
    """Drop all tables."""
    for table in TABLES:
        op.drop_table(table)


def _text(name: str, *, null: bool = False, key: bool = False) -> "sa.Column[str]":
    return sa.Column(name, sa.String(), nullable=null, primary_key=key)


def _nodes() -> None:
    op.create_table(
        "node_intervals",
        _text("node_id", key=True),
        _text("started_at", key=True),
        _text("ended_at", null=True),
        _text("end_reason"),
        _text("instance_type"),
        _text("accelerator", null=True),
        _text("market"),
        _text("zone"),
        sa.Column("price_usd_per_hour", DecimalText(), nullable=False),
        sa.Column("on_demand_usd_per_hour", DecimalText(), nullable=False),
        sa.Column("emulated", sa.Boolean(), nullable=False),
    )
    op.create_table(
        "uses",
        sa.Column("id", sa.Integer(), primary_key=True),
        _text("job"),
        _text("kind"),
        _text("consumer"),
        _text("node_id"),
        _text("since"),
        _text("until"),
        sa.Column("still", sa.Boolean(), nullable=False),
    )
    for column in ("consumer", "node_id", "still"):
        op.create_index(f"ix_uses_{column}", "uses", [column])
    op.create_table(
        "pool_failures",
        sa.Column("id", sa.Integer(), primary_key=True),
        _text("offer"),
        _text("at"),
        sa.Column("waited_s", sa.Float(), nullable=False),
    )
    op.create_index("ix_pool_failures_at", "pool_failures", ["at"])


def _catalogs() -> None:
    op.create_table(
        "catalogs",
        _text("hash", key=True),
        sa.Column("text", sa.Text(), nullable=False),
        _text("file"),
        _text("base_dir"),
    )
    op.create_table(
        "applied",
        sa.Column("id", sa.Integer(), primary_key=True),
        _text("at"),
        sa.Column("catalog_hash", sa.String(), sa.ForeignKey("catalogs.hash"), nullable=False),
    )
    op.create_table("schedule_marks", _text("job", key=True), _text("cron"), _text("timezone"), _text("after"))


def _runs() -> None:
    op.create_table(
        "runs",
        _text("run_id", key=True),
        _text("job"),
        _text("kind"),
        _text("state"),
        _text("created_at"),
        _text("ended_at", null=True),
        _text("scheduled_for", null=True),
        sa.Column("catalog_hash", sa.String(), sa.ForeignKey("catalogs.hash"), nullable=False),
        sa.Column("entrypoint", sa.Text(), nullable=False),
        sa.Column("runtime_env_json", sa.Text(), nullable=False),
        sa.Column("emulated", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
    )
    for column in ("job", "state"):
        op.create_index(f"ix_runs_{column}", "runs", [column])
    op.create_table(
        "attempts",
        sa.Column("run_id", sa.String(), sa.ForeignKey("runs.run_id"), primary_key=True),
        sa.Column("number", sa.Integer(), primary_key=True),
        _text("submission_id"),
        _text("state"),
        _text("planned_at"),
        *(_text(name, null=True) for name in ("not_before", "submitted_at", "began_at", "ended_at", "pending_since")),
        _text("offer"),
        sa.Column("selector", sa.JSON(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
    )
    op.create_index("ix_attempts_submission_id", "attempts", ["submission_id"])


def _events_and_actions() -> None:
    op.create_table(
        "events",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        _text("at"),
        _text("kind"),
        sa.Column("message", sa.Text(), nullable=False),
        _text("job"),
        _text("run_id"),
        _text("node_id"),
        sa.Column("data", sa.JSON(), nullable=False),
        sqlite_autoincrement=True,
    )
    for column in ("job", "run_id"):
        op.create_index(f"ix_events_{column}", "events", [column])
    op.create_table(
        "actions",
        _text("id", key=True),
        _text("kind"),
        sa.Column("payload", sa.JSON(), nullable=False),
        _text("state"),
        _text("planned_at"),
        _text("tried_at", null=True),
        _text("done_at", null=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
    )
    op.create_index("actions_by_kind", "actions", ["kind", "state"])
