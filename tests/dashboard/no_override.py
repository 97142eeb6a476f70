"""The columns of a day that no planner has changed, for literal tables."""

import numpy as np
import pandas as pd

NO_OVERRIDE = {
    "override_id": np.nan,
    "is_set": False,
    "override_reason": None,
    "made_by": None,
    "overruled_by": None,
    "planner_orders": np.nan,
}


def as_forecast(table: pd.DataFrame, **columns: object) -> pd.DataFrame:
    """The table with the model's own numbers planned, or `columns` of an override."""
    own = {
        f"model_{name}": table[name]
        for name in ("p10", "p50", "p90", "point")
        if name in table
    }
    if "target_on" in table:
        own["origin_on"] = table["target_on"].min() - pd.Timedelta(days=1)
    own |= {f"city_{name}": np.nan for name in ("p10", "p90")}
    own["model_part"] = own["part"] = own["model_point"]
    return table.assign(**own, **NO_OVERRIDE).assign(**columns)
