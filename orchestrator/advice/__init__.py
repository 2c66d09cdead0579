"""Advice: what a plan's owner could do better, with the arithmetic. Pure: prices, traffic and `now` are arguments.

situation (catalog + prices + plan) → one module per topic → advise; `render` puts it into words and JSON.
"""

from orchestrator.advice.advice import Advice, Figure, Threshold, Topic
from orchestrator.advice.advise import advise
from orchestrator.advice.render import advice_as_dict, advice_as_text
from orchestrator.advice.traffic import Traced, traced

__all__ = ["Advice", "Figure", "Threshold", "Topic", "Traced", "advice_as_dict", "advice_as_text", "advise", "traced"]
