"""Conversion of database values."""

from typing import Any

import pandas as pd


def none_if_null(value: Any) -> Any:
    """None where the database had null."""
    return None if pd.isna(value) else value
