"""How far a batch is and when it will be done, from the shards committed so far."""

from dataclasses import dataclass

from orchestrator.runtime.batch_log import ShardStat


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """`rows_done` of `rows` (answers and errors alike); rates count this attempt only, start-up excluded.

    `eta_s` is None until the first shard of this attempt is done.
    """

    rows: int
    rows_done: int
    errors: int
    tokens: int
    tokens_per_s: float
    eta_s: float | None

    @property
    def line(self) -> str:
        """One line for people."""
        eta = "" if self.eta_s is None else f", {self.tokens_per_s:.0f} tokens/s, {self.eta_s:.0f} s to go"
        return f"{self.rows_done} of {self.rows} rows{eta}"


def progress(rows: int, before: list[ShardStat], now: list[ShardStat], working_s: float) -> Progress:
    """`before` are shards of earlier attempts, `now` of this one, on which engines have worked for `working_s`."""
    done_now = sum(stat.rows + stat.errors for stat in now)
    done = done_now + sum(stat.rows + stat.errors for stat in before)
    tokens_now = sum(stat.prompt_tokens + stat.output_tokens for stat in now)
    busy_s = max(working_s, 1e-3)
    return Progress(
        rows=rows,
        rows_done=done,
        errors=sum(stat.errors for stat in (*before, *now)),
        tokens=tokens_now + sum(stat.prompt_tokens + stat.output_tokens for stat in before),
        tokens_per_s=tokens_now / busy_s,
        eta_s=(rows - done) * busy_s / done_now if done_now else None,
    )
