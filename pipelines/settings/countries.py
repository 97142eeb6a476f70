"""The countries of ISO 3166, whose public holidays can be looked up, and the time zones."""

from functools import cache
from zoneinfo import available_timezones


@cache
def known_zones() -> set[str]:
    """Names of the IANA time zones; cached because listing them reads many folders."""
    # The system keeps a file of this name in the folder of zones; Postgres does not know it.
    return available_timezones() - {"localtime"}


@cache
def known_countries() -> frozenset[str]:
    """Codes of two letters, in capitals."""
    # Imported here: settings are read by every command, and few ask for a country.
    import holidays

    return frozenset(holidays.list_supported_countries(include_aliases=False))


def has_calendar(country: str, subdivision: str) -> bool:
    """Whether the calendar lists a subdivision; true where it lists none of the country."""
    listed = _subdivisions(country)
    return not listed or subdivision in listed


@cache
def _subdivisions(country: str) -> frozenset[str]:
    import holidays

    entity = holidays.country_holidays(country)
    return frozenset((*entity.subdivisions, *entity.subdivisions_aliases))
