"""A column: one figure, or one for each of many machines.

The formulas of this package are written for both, so that what a test checks by hand for one machine is what a plan
computes for hundreds at once. Machines that cannot do something have NaN there, which never compares as enough.
"""

from typing import Any

Column = Any
"""A float or an NDArray[np.float64], and whichever came in comes out. Types cannot say that: a union would have to be
taken apart at every use."""

Flags = Any
"""A bool or an NDArray[np.bool_], in the same way."""
