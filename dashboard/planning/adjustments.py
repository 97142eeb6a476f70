"""Parses what a planner types for a number: '420', or a change such as '+10 %'. No I/O."""

import re
from dataclasses import dataclass

NUMBER = re.compile(r"(\d{1,3}(?:[,\s]\d{3})+|\d+)")
# Two decimals at most: in "10,000 %" the comma may mean thousands.
PERCENT = re.compile(r"([+\-−])\s*(\d+(?:[.,]\d{1,2})?)\s*%")
NUMBER_RULE = "Write a number of orders such as 420, or a change such as +10 % or −5 %."
FIGURES = r"\d[\d.,\s]*"


@dataclass(frozen=True)
class Adjustment:
    """A new number of orders, or a factor on the planned number; exactly one is None."""

    orders: float | None = None
    factor: float | None = None

    def apply(self, planned: float) -> float:
        """The new number, in whole orders."""
        if self.factor is None:
            return float(self.orders or 0.0)
        return float(round(planned * self.factor))


def parse(text: str) -> Adjustment | None:
    """Parses an adjustment such as '420', '1,240' or '+10 %'; None for any other text."""
    typed = text.strip()
    if number := NUMBER.fullmatch(typed):
        return Adjustment(orders=float(re.sub(r"[,\s]", "", number[1])))
    if percent := PERCENT.fullmatch(typed):
        share = float(percent[2].replace(",", ".")) / 100
        factor = 1 + share if percent[1] == "+" else 1 - share
        return Adjustment(factor=factor) if factor >= 0 else None
    return None


def problem(text: str) -> str:
    """A sentence that says why a text is no adjustment; '' where `parse` takes it."""
    if parse(text) is not None:
        return ""
    typed = text.strip()
    if not typed:
        return f"The new number is missing. {NUMBER_RULE}"
    return f"“{typed}” {_broken_rule(typed)}"


def _broken_rule(typed: str) -> str:
    if PERCENT.fullmatch(typed):
        return "is less than −100 %, which leaves no orders. Write −100 % at most."
    if re.fullmatch(rf"{FIGURES}%", typed):
        number = typed.rstrip("%").strip()
        return f"has no sign. Do you mean +{number} % or −{number} %?"
    if re.fullmatch(rf"[+\-−]\s*{FIGURES}%", typed):
        return "has too many decimals, or is too large. Write a change such as +12.5 %."
    if signed := re.fullmatch(rf"([+\-−])\s*({FIGURES})", typed):
        sign = "+" if signed[1] == "+" else "−"
        return (
            f"has a sign. Write {sign}{signed[2]} % for a change, or a number of orders "
            "without a sign."
        )
    if re.fullmatch(FIGURES, typed):
        return (
            "is no whole number of orders. Write whole orders, thousands with a comma or "
            "nothing between them: 1,240 or 1240."
        )
    return f"is no number of orders. {NUMBER_RULE}"
