"""From rows of the database to what the answers promise."""

from typing import Any

import pandas as pd


def known(value: Any) -> Any:
    """None where the database had null."""
    return None if pd.isna(value) else value
