"""Countries whose public holidays can be looked up: those of ISO 3166."""

from functools import cache


@cache
def known_countries() -> frozenset[str]:
    """Codes of two letters, in capitals."""
    # Imported here: settings are read by every command, and few ask for a country.
    import holidays

    return frozenset(holidays.list_supported_countries(include_aliases=False))
