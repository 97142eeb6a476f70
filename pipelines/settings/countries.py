"""ISO 3166 countries and subdivisions with known public holidays, and IANA time zones."""

from functools import cache
from zoneinfo import available_timezones

NO_PLACES = {"localtime", "CET", "EET", "MET", "WET"}
"""A system file in the zone folder, and zones that Postgres reads as times without summer time."""


@cache
def known_zones() -> set[str]:
    """Names of the IANA time zones; cached because listing them reads many folders."""
    return available_timezones() - NO_PLACES


@cache
def known_countries() -> frozenset[str]:
    """ISO 3166 codes of two capital letters."""
    # Imported here: every command reads settings, but few check a country.
    import holidays

    return frozenset(holidays.list_supported_countries(include_aliases=False))


def has_calendar(country: str, subdivision: str) -> bool:
    """Whether the calendar lists a subdivision; true if it lists no subdivision of the country."""
    listed = _subdivisions(country)
    return not listed or subdivision in listed


@cache
def _subdivisions(country: str) -> frozenset[str]:
    import holidays

    entity = holidays.country_holidays(country)
    return frozenset((*entity.subdivisions, *entity.subdivisions_aliases))
