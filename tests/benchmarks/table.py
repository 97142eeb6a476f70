"""Numbers as a Markdown table."""

from typing import Any

COLUMNS = {
    "model": "model",
    "mape": "MAPE %",
    "mape_ratio": "gru / model",
    "wape": "WAPE %",
    "wape_ratio": "gru / model",
    "bias": "bias %",
    "mase": "MASE",
    "coverage80": "80 % band",
    "train_seconds": "train s",
    "forecast_seconds": "forecast s",
    "days": "days",
}
DIGITS = {"mape": 2, "wape": 2, "bias": 2, "mase": 3, "coverage80": 3} | {
    "mape_ratio": 3,
    "wape_ratio": 3,
    "train_seconds": 0,
    "forecast_seconds": 1,
}


def markdown(result: dict[str, dict[str, Any]]) -> str:
    """One row per model, least MAPE first."""
    head = [f"| {' | '.join(COLUMNS.values())} |"]
    head.append(f"|{'---|' * len(COLUMNS)}")
    by_mape = sorted(result, key=lambda name: result[name]["mape"])
    return "\n".join(head + [_row({"model": name} | result[name]) for name in by_mape])


def _row(cells: dict[str, Any]) -> str:
    return f"| {' | '.join(_cell(name, cells[name]) for name in COLUMNS)} |"


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "–"
    return (
        f"{value:,.{DIGITS[name]}f}"
        if name in DIGITS
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )
