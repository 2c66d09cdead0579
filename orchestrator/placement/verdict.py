"""A verdict: one rule's answer for many rows at once, and how verdicts become the rejections of a plan."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from orchestrator.placement.refusal import Figure, Refusal, figure

Figures = Figure | NDArray[np.float64] | NDArray[np.object_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Verdict:
    """Where `broken`, the rule fails with what was needed and available in `unit`: one figure for all rows, or columns
    that broadcast to the shape of `broken`."""

    reason: str
    broken: NDArray[np.bool_]
    needed: Figures
    available: Figures
    unit: str = ""

    def at(self, *index: int) -> Refusal:
        """The refusal of one row."""
        return Refusal(
            reason=self.reason,
            needed=self._figure(self.needed, index),
            available=self._figure(self.available, index),
            unit=self.unit,
        )

    def taken(self, rows: NDArray[np.intp]) -> "Verdict":
        """The same verdict for other rows, each a copy of one of these."""
        return Verdict(
            reason=self.reason,
            broken=self.broken[rows],
            needed=self._spread(self.needed, rows),
            available=self._spread(self.available, rows),
            unit=self.unit,
        )

    def _spread(self, column: Figures, rows: NDArray[np.intp]) -> Figures:
        if not isinstance(column, np.ndarray):
            return column
        return cast("Figures", self._whole(column)[rows])

    def _whole(self, column: NDArray[Any]) -> NDArray[Any]:
        return column if column.shape == self.broken.shape else np.broadcast_to(column, self.broken.shape)

    def _figure(self, column: Figures, index: tuple[int, ...]) -> Figure:
        if not isinstance(column, np.ndarray):
            return figure(column) if isinstance(column, float) else column
        value = self._whole(column)[index]
        return value if isinstance(value, str) else figure(float(value))


def first_broken(verdicts: Sequence[Verdict], *index: int) -> Refusal | None:
    """The refusal of the first rule that a row breaks."""
    return next((verdict.at(*index) for verdict in verdicts if verdict.broken[index]), None)
