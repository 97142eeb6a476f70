"""Measures how many context days of a network influence its forecasts.

Training reads `TaskConfig.context` days. The influence of the earliest ones is measured
once, at export, so that serving computes only the days that matter.
"""

import numpy as np
from jaxtyping import Float

from forecaster.data import inputs
from forecaster.data.inputs import Slices
from forecaster.inference import numpy_model
from forecaster.inference.artefact import Artefact

# Largest difference of a forecast in log counts (0.01 is a percent of the orders), and the
# share of forecasts that must stay within it.
MAX_DIFFERENCE = 0.01
SHARE = 0.99
STEP_DAYS = 8


def effective_context_days(artefact: Artefact, slices: Slices) -> int:
    """Returns the fewest context days that give the forecasts of the whole context.

    Args:
      artefact: Weights and task of the network.
      slices: Windows to compare on, with a batch axis and the task's context.
    """
    full_bh = _newest_forecast(artefact, slices)
    for days in range(2 * STEP_DAYS, artefact.task.context, STEP_DAYS):
        short = inputs.newest(slices, artefact.horizon, days)
        difference_bh = np.abs(_newest_forecast(artefact, short) - full_bh)
        if np.quantile(difference_bh, SHARE) <= MAX_DIFFERENCE:
            return days
    return artefact.task.context


def _newest_forecast(
    artefact: Artefact, slices: Slices
) -> Float[np.ndarray, "batch horizon"]:
    baseline_boh, correction_boh = numpy_model.Network(artefact).forward(slices)
    return (baseline_boh + correction_boh)[:, 0]
