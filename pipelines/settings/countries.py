"""Countries whose public holidays can be looked up: those of ISO 3166."""

from functools import cache


@cache
def known_countries() -> frozenset[str]:
    """Codes of two letters, in capitals."""
    # Imported here: settings are read by every command, and few ask for a country.
    import holidays

    return frozenset(holidays.list_supported_countries(include_aliases=False))


def is_subdivision(country: str, subdivision: str) -> bool:
    """Whether a country has a subdivision; true where none of them are known."""
    known = _subdivisions(country)
    return not known or subdivision in known


@cache
def _subdivisions(country: str) -> frozenset[str]:
    import holidays

    entity = holidays.country_holidays(country)
    return frozenset((*entity.subdivisions, *entity.subdivisions_aliases))
