"""SQL that selects which of several forecasts from one origin counts in the accuracy."""


def counted_forecasts(live: str, since: str) -> str:
    """SELECT of `origin_on`, `city` and `model_version` of the forecasts that count.

    Of several models that forecast a city from one origin, the one that did so last
    counts: a forecast is made by the champion of its hour, and the last is the one shown.

    Args:
      live: Whether live forecasts are asked for, or hindcasts, as SQL.
      since: The first day forecast, as SQL.
    """
    return f"""
    select distinct on (t.origin_on, t.city) t.origin_on, t.city, t.model_version
    from score_totals t
    where t.is_live = {live} and t.target_on >= {since}
    order by t.origin_on, t.city, t.made_at desc, t.model_version
"""
