"""Progress lines: attempts add up, rates count this attempt only."""

from orchestrator.runtime.batch_log import ShardStat
from orchestrator.runtime.batch_progress import progress


def stat(rows: int, errors: int = 0, tokens: int = 0) -> ShardStat:
    return ShardStat(shard="s", rows=rows, errors=errors, prompt_tokens=tokens, output_tokens=0, seconds=1.0, attempt=1)


def test_before_the_first_shard_there_is_no_estimate() -> None:
    at = progress(100, [stat(40)], [], 0.0)
    assert (at.rows_done, at.eta_s) == (40, None)
    assert at.line == "40 of 100 rows"


def test_the_rate_is_of_this_attempt_and_errors_count_as_done() -> None:
    at = progress(100, [stat(40, tokens=9999)], [stat(18, errors=2, tokens=1000)], 10.0)
    assert (at.rows_done, at.errors) == (60, 2)
    assert at.tokens_per_s == 100.0
    assert at.eta_s == 20.0
    assert at.tokens == 10_999
    assert at.line == "60 of 100 rows, 100 tokens/s, 20 s to go"
