"""Array types of most functions in `data`, by axes and dtype.

The axis `tail` is the steps from a first step on.
"""

import numpy as np
from jaxtyping import Bool, Float, Float32

DepotTime = Float[np.ndarray, "depot time"]
DepotTime32 = Float32[np.ndarray, "depot time"]
DepotTimeFlags = Bool[np.ndarray, "depot time"]
DepotTail32 = Float32[np.ndarray, "depot tail"]
