"""How far back a network remembers: a forecast need not read further.

Training lets it read `TaskConfig.context` days. What it still makes of the first of them is
measured once, at export, so that serving costs only the days that count.
"""

import numpy as np
from jaxtyping import Float

from forecaster.data import inputs
from forecaster.data.inputs import Slices
from forecaster.inference import numpy_model
from forecaster.inference.artefact import Artefact

# Log counts that forecasts may differ by, at 99 in 100 of them: a percent of the orders.
FORGOTTEN = 0.01
SHARE = 0.99
STEP_DAYS = 8


def effective_context_days(artefact: Artefact, slices: Slices) -> int:
    """The fewest days whose forecasts are those of the whole context.

    Args:
      artefact: Its weights and task.
      slices: Windows to compare on, with a batch axis and the task's context.
    """
    whole_bh = _answer(artefact, slices)
    for days in range(2 * STEP_DAYS, artefact.task.context, STEP_DAYS):
        short = inputs.newest(slices, artefact.horizon, days)
        gap_bh = np.abs(_answer(artefact, short) - whole_bh)
        if np.quantile(gap_bh, SHARE) <= FORGOTTEN:
            return days
    return artefact.task.context


def _answer(artefact: Artefact, slices: Slices) -> Float[np.ndarray, "batch horizon"]:
    baseline_boh, correction_boh = numpy_model.Network(artefact).forward(slices)
    return (baseline_boh + correction_boh)[:, 0]
