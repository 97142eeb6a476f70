"""Arrays that most of the data's functions take or return, by their axes and type.

A tail is the steps from a first one on.
"""

import numpy as np
from jaxtyping import Bool, Float, Float32

DepotTime = Float[np.ndarray, "depot time"]
DepotTime32 = Float32[np.ndarray, "depot time"]
DepotTimeFlags = Bool[np.ndarray, "depot time"]
DepotTail32 = Float32[np.ndarray, "depot tail"]
