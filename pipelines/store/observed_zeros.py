"""Which days without orders had none, and of which nothing is known.

Silence is judged by feed: by the file that brought a depot's orders on its last day
before. A day without orders is a 0 where

- that same file has orders of the day, of whichever depot; or
- a file of its kind has: one that brings a depot of those that came with ours in numbers,
  and at least half as many depots. Where the depot is one that hardly ever has no orders,
  it may yet come in a file of its own, so that counts from the day after; or
- the depot has files of its own, and no orders are nothing new to it: it has few, and its
  next ones have come, or it had none on the same weekday of the two weeks before.

Every other day without orders is not observed. A day is judged by what lies before it, so
that later files change it seldom.
"""

FEW_ORDERS = 5
"""Fewer orders a day: one who expects five gets none twice a year (Poisson)."""
LONGEST_GAP = 14
"""Days between two days with orders; in a longer time a file is missing, not orders."""
LONGEST_REST = 3
"""Days that a weekly rest takes at most, a bank holiday beside a weekend included."""
WITNESSES = 3
"""The busiest depots of a file, beside the one that is judged: they seldom lack orders."""

# A depot's days with orders, each with the next; its days without lie in between.
GAPS = """
counted as materialized (
    select depot_id, service_on, orders, file_id,
           lead(service_on) over own as next_on, lead(orders) over own as next_orders,
           first_value(service_on) over own as first_on
    from order_counts
    window own as (partition by depot_id order by service_on)
), gaps as (
    select c.depot_id, c.file_id, c.service_on as before_on, c.orders as before_orders,
           c.next_on, c.next_orders, c.first_on, c.service_on + 1 as from_on,
           least(coalesce(c.next_on, l.today) - 1, l.closed_on - 1) as until_on, l.today
    from counted c join local l using (depot_id)
    where c.next_on is distinct from c.service_on + 1
    union all
    select c.depot_id, c.file_id, null, null, null, null, l.opened_on, l.opened_on,
           c.service_on - 1, l.today
    from counted c join local l using (depot_id)
    where c.service_on = c.first_on and l.opened_on < c.service_on
)"""

# The busiest depots of each file that a gap begins with, and how many a file brings.
FEEDS = f"""
brought as materialized (
    select file_id, depot_id, sum(orders) as orders from order_counts group by 1, 2
), sizes as materialized (
    select file_id, count(*) as depots from brought group by 1
), spoken as materialized (
    select distinct file_id, service_on from order_counts
), busiest as materialized (
    select file_id, depot_id from (
        select file_id, depot_id,
               row_number() over (partition by file_id
                                  order by orders desc, depot_id) as place
        from brought where file_id in (select file_id from gaps)
    ) ranked
    where place <= {WITNESSES} + 1
)"""

# Joins, which can be hashed, where conditions on each day would be looked up one by one.
SILENT = """
silent as materialized (
    select g.*, own.depots as file_depots, day::date as day_on
    from gaps g join sizes own using (file_id)
    cross join lateral generate_series(greatest(g.from_on, :frozen),
                                       least(g.until_on, :today),
                                       interval '1 day') as day
), witnessed as (
    select distinct s.depot_id, s.day_on
    from silent s
    join busiest b on b.file_id = s.file_id and b.depot_id <> s.depot_id
    join order_counts w on w.depot_id = b.depot_id and w.service_on = s.day_on
    join sizes theirs on theirs.file_id = w.file_id
    where 2 * theirs.depots >= s.file_depots
), judged as (
    select s.*, spoken.file_id is not null as is_spoken_of,
           w.depot_id is not null as is_witnessed,
           a.depot_id is null and s.day_on - 7 >= s.first_on as rested,
           b.depot_id is null and s.day_on - 14 >= s.first_on as rested_before
    from silent s
    left join spoken on spoken.file_id = s.file_id and spoken.service_on = s.day_on
    left join witnessed w on w.depot_id = s.depot_id and w.day_on = s.day_on
    left join order_counts a on a.depot_id = s.depot_id and a.service_on = s.day_on - 7
    left join order_counts b on b.depot_id = s.depot_id and b.service_on = s.day_on - 14
)"""

OBSERVED_ZEROS = f"""
{GAPS}, {FEEDS}, {SILENT}, zeros as (
    select depot_id, day_on from judged
    where is_spoken_of
       or (is_witnessed
           and (day_on < today - 1 or before_orders < {FEW_ORDERS} or rested))
       or (file_depots = 1 and rested and rested_before
           and day_on - before_on <= {LONGEST_REST})
       or (file_depots = 1 and next_on - before_on <= {LONGEST_GAP}
           and least(before_orders, next_orders) < {FEW_ORDERS})
)"""
"""Common table expressions up to `zeros` (depot_id, day_on); `local` comes before them:
depot_id, closed_on, opened_on and today, the first day that is not counted there."""
