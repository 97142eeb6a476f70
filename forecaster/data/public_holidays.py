"""Public holidays by country and subdivision, from the `holidays` library."""

from collections.abc import Callable
from datetime import date


def holidays_of(
    country: str,
    subdivision: str,
    years: range,
    warn: Callable[[str, str], None] | None = None,
) -> dict[date, str]:
    """Returns the English names of a region's holidays by day.

    Args:
      country: ISO 3166 code.
      subdivision: Code of a part of the country; empty for the whole country.
      years: Years covered.
      warn: Called with country and subdivision where the library does not list them; a
        subdivision then gets its country's holidays, and a country none.
    """
    import holidays

    try:
        # English, so that a holiday has one name whatever the machine's language.
        days = holidays.country_holidays(
            country, subdiv=subdivision or None, years=years, language="en_US"
        )
        return dict(days.items())
    except NotImplementedError:
        if warn is not None:
            warn(country, subdivision)
    if not subdivision:
        return {}
    return holidays_of(country, "", years, warn)
