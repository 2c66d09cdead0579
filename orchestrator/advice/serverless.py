"""Topic: a service's own cost per million tokens beside a serverless endpoint's, and the volume at which they meet."""

from collections.abc import Iterator

from orchestrator.advice.advice import Advice, Figure, Threshold, Topic
from orchestrator.advice.situation import Situation, chosen
from orchestrator.advice.words import number, percent, usd
from orchestrator.estimate.money import SECONDS_PER_MONTH
from orchestrator.estimate.profile import PRACTITIONERS
from orchestrator.model.job import ServeJob, Task
from orchestrator.model.plan import Choice
from orchestrator.placement.work import Work

LOW_USD_PER_MILLION, HIGH_USD_PER_MILLION = 0.80, 1.20
MILLION = 1e6


def tokens_per_month(requests_per_s: float, tokens_per_request: float) -> float:
    """Millions of tokens, prompts and answers, in a 730-hour month."""
    return requests_per_s * SECONDS_PER_MONTH * tokens_per_request / MILLION


def serverless_usd(million_tokens: float, usd_per_million: float) -> float:
    """A serverless endpoint's bill."""
    return million_tokens * usd_per_million


def break_even_millions(own_usd: float, usd_per_million: float) -> float:
    """Millions of tokens a month from which a bill that does not grow with them is the smaller one."""
    return own_usd / usd_per_million


def serverless(found: Situation) -> Iterator[Advice]:
    """One piece of advice for every generating model of a service that has hardware."""
    for work, choice in chosen(found):
        if isinstance(work.job, ServeJob) and work.job.task is Task.GENERATE and work.share > 0:
            yield _advice(work, work.job, choice)


def _advice(work: Work, job: ServeJob, choice: Choice) -> Advice:
    own_usd = float(choice.expected_usd)
    requests_per_s = job.traffic.requests_per_second * work.share
    tokens = job.traffic.prompt_tokens + job.traffic.output_tokens
    millions = tokens_per_month(requests_per_s, tokens)
    own = own_usd / millions
    low, high = (break_even_millions(own_usd, price) for price in (HIGH_USD_PER_MILLION, LOW_USD_PER_MILLION))
    how = f"{number(requests_per_s)} requests/s x {SECONDS_PER_MONTH:,.0f} s x {number(tokens)} tokens"
    bills = [serverless_usd(millions, price) for price in (LOW_USD_PER_MILLION, HIGH_USD_PER_MILLION)]
    return Advice(
        topic=Topic.SERVERLESS,
        job=job.name,
        part=work.part or "",
        recommendation=_sentence(own, low, high),
        figures=(
            Figure(name="tokens a month", value=millions, unit="million", how=how),
            Figure(name="own, a month", value=choice.expected_usd, unit="USD"),
            Figure(
                name="own", value=own, unit="USD per million tokens", how=f"{usd(own_usd)} USD / {number(millions)}"
            ),
            *(
                Figure(
                    name="serverless, a month",
                    value=bill,
                    unit="USD",
                    how=f"{number(millions)} million x {price:.2f} USD",
                )
                for bill, price in zip(bills, (LOW_USD_PER_MILLION, HIGH_USD_PER_MILLION), strict=True)
            ),
            *(
                Figure(
                    name="break-even",
                    value=volume,
                    unit="million tokens a month",
                    how=f"{usd(own_usd)} / {price:.2f} USD",
                )
                for volume, price in ((low, HIGH_USD_PER_MILLION), (high, LOW_USD_PER_MILLION))
            ),
        ),
        thresholds=(
            Threshold(
                name="serverless, from", value=LOW_USD_PER_MILLION, unit="USD per million tokens", source=PRACTITIONERS
            ),
            Threshold(name="to", value=HIGH_USD_PER_MILLION, unit="USD per million tokens", source=PRACTITIONERS),
        ),
        confidence="Serverless prices differ by model, small ones are cheaper, and a fine-tuned model may not be on "
        "offer; the own bill is that of the present load and grows with more replicas.",
    )


def _sentence(own: float, low: float, high: float) -> str:
    cost = (
        f"own tokens cost {usd(own)} USD a million, serverless {LOW_USD_PER_MILLION:.2f} to {HIGH_USD_PER_MILLION:.2f}"
    )
    if own > HIGH_USD_PER_MILLION:
        more = 1.0 - HIGH_USD_PER_MILLION / own
        return f"Serverless would be at least {percent(more)} cheaper at this volume: {cost}."
    if own < LOW_USD_PER_MILLION:
        return f"Keep it on the own cluster: {cost}."
    return f"Neither is clearly cheaper: {cost}; own is cheaper from {number(high)} million a month on."
