"""SQL for the sums of scores that the pages, the alarms and the command line show.

A statement that uses the `PUBLISHED_…` constants binds `:live` (false for
hindcasts), and has the CTEs `period`, with the first target day as `first_on`, and
`published`, which is `PUBLISHED_FORECASTS`.
"""

MEASURES = """
    n, n_in_interval, actual_sum, error_sum, abs_error_sum, ape_sum,
    naive_error_sum, naive_abs_error_sum, naive_ape_sum,
    median_error_sum, median_abs_error_sum, median_ape_sum
"""
"""The additive columns of `score_totals`."""

SCORE_MEASURES = """
    select s.is_live, s.target_on, s.origin_on, d.city, s.depot_id, s.model_version,
           s.seasonal_naive is not null as has_naive, s.actual > 0 as is_nonzero,
           1 as n, cast(s.actual between s.p10 and s.p90 as integer) as n_in_interval,
           s.actual as actual_sum,
           s.point - s.actual as error_sum,
           abs(s.point - s.actual) as abs_error_sum,
           coalesce(abs(s.point - s.actual) / nullif(s.actual, 0), 0) as ape_sum,
           coalesce(s.seasonal_naive - s.actual, 0) as naive_error_sum,
           coalesce(abs(s.seasonal_naive - s.actual), 0) as naive_abs_error_sum,
           coalesce(abs(s.seasonal_naive - s.actual) / nullif(s.actual, 0), 0)
               as naive_ape_sum,
           coalesce(s.median4 - s.actual, 0) as median_error_sum,
           coalesce(abs(s.median4 - s.actual), 0) as median_abs_error_sum,
           coalesce(abs(s.median4 - s.actual) / nullif(s.actual, 0), 0)
               as median_ape_sum
    from scores s join depots d using (depot_id)
"""
"""One row for each score: the `MEASURES` of this one score."""

PUBLISHED_FORECASTS = """
    select distinct on (t.origin_on, t.city) t.origin_on, t.city, t.model_version
    from (
        select origin_on, city, model_version, max(depots) as depots,
               max(made_at) as made_at
        from (
            select origin_on, city, model_version, target_on, sum(n) as depots,
                   max(made_at) as made_at
            from score_totals
            where is_live = :live and target_on >= (select first_on from period)
              and (not :live or (origin_on, model_version)
                                in (select origin_on, model_version from live_forecasts))
            group by origin_on, city, model_version, target_on
        ) of_day
        group by origin_on, city, model_version
    ) t
    order by t.origin_on, t.city, t.depots desc, t.made_at desc, t.model_version
"""
"""The model whose scores count, per origin and city.

For live forecasts, the model in the view `live_forecasts`. For hindcasts, which are not
published, the newest of those that forecast the most depots: a hindcast of some depots with
another model does not replace the hindcast of their whole city.
"""

PUBLISHED_BY_CITY = """
    select t.* from score_totals t
    join published using (origin_on, city, model_version)
    where t.is_live = :live and t.target_on >= (select first_on from period)
"""
"""The `MEASURES` by target day, origin and city."""

PUBLISHED_BY_DEPOT = f"""
    with partial_origins as materialized (
        {SCORE_MEASURES}
        where s.is_live = :live and s.target_on >= (select first_on from period)
          and s.origin_on between (select min(origin_on) from published)
                              and (select first_on - 2 from period)
    )
    select t.depot_id, t.has_naive, t.is_nonzero, {MEASURES}
    from score_totals t
    join published using (origin_on, city, model_version)
    where t.is_live = :live and t.depot_id is not null
      and t.origin_on >= (select first_on - 1 from period)
    union all
    select depot_id, has_naive, is_nonzero, {MEASURES}
    from partial_origins
    join published using (origin_on, city, model_version)
"""
"""The `MEASURES` by depot.

Origins whose target days all lie in the period have rows of sums by depot; earlier
origins have a row for each score in the period. The caller adds them up.
"""
