"""Results of SELECT statements as pandas tables."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import sqlalchemy as sa
from psycopg import postgres

TIMESTAMPTZ = postgres.types["timestamptz"].oid


def select(
    connection: sa.Connection,
    statement: str,
    numbers: Sequence[str] = (),
    days: Sequence[str] = (),
    **parameters: Any,
) -> pd.DataFrame:
    """Runs one SELECT with named bind parameters.

    The columns `numbers` become floats, NaN where null, and the columns `days` timestamps at
    midnight, NaT where null. Columns of timestamptz become timestamps in UTC, even if all are null.
    """
    result = connection.execute(sa.text(statement), parameters)
    columns = result.cursor.description
    moments = [column[0] for column in columns if column[1] == TIMESTAMPTZ]
    # pandas is slow with the driver's own rows.
    rows = [tuple(row) for row in result]
    table = pd.DataFrame(rows, columns=list(result.keys()))
    dtypes = dict.fromkeys(numbers, "float64") | dict.fromkeys(days, "datetime64[s]")
    dtypes |= dict.fromkeys(moments, "datetime64[us, UTC]")
    return table.astype(dtypes)
