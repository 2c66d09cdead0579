"""A column: one figure, or one for each of many machines.

The formulas of this package are written for both, so that what a test checks by hand for one machine is what a plan
computes for hundreds at once. Machines that cannot do something have NaN there, which never compares as enough.
"""

import numpy as np
from numpy.typing import NDArray

Column = float | NDArray[np.float64]
Flags = bool | NDArray[np.bool_]
