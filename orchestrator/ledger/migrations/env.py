"""Alembic environment: migrates over the connection that `open_database` hands in."""

from alembic import context

from orchestrator.ledger.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
