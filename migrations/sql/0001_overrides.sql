-- Planners' overrides: the dashboard's role may append them through this function and
-- write nothing else. It runs as its owner. What it refuses is raised as HF001, with a
-- sentence for people.

create function add_override(
    depot text, day date, what text, number double precision, why text, planner text
) returns bigint
language plpgsql security definer set search_path = {schema}, pg_temp as $$
declare
    shown forecasts%rowtype;
    newest overrides%rowtype;
    added bigint;
begin
    -- Two planners at one day: the second sees what the first has done.
    perform pg_advisory_xact_lock(hashtextextended(depot || '|' || day, 5));
    select f.* into shown from forecasts f
    left join models m on m.version = f.model_version and m.role = 'champion'
    where f.depot_id = depot and f.target_on = day
      and f.origin_on = (select max(origin_on) from forecasts)
    order by m.version is not null desc, f.made_at desc limit 1;
    if not found then
        raise exception using errcode = 'HF001', message = format(
            'Depot %s has no forecast of %s; only days ahead that are forecast can be '
            'changed. Choose another day.', depot, day);
    end if;
    select o.* into newest from overrides o
    where o.depot_id = depot and o.target_on = day order by override_id desc limit 1;
    if newest.action = 'lock' and what <> 'unlock' then
        raise exception using errcode = 'HF001', message = format(
            '%s of depot %s was locked by %s; a locked day is not changed. Unlock it '
            'first.', day, depot, newest.made_by);
    end if;
    if what = 'unlock' and newest.action is distinct from 'lock' then
        raise exception using errcode = 'HF001', message = format(
            '%s of depot %s is not locked. Load the page again.', day, depot);
    end if;
    if what = 'withdraw' and newest.orders is null then
        raise exception using errcode = 'HF001', message = format(
            '%s of depot %s was not changed, so nothing can be taken back. Load the '
            'page again.', day, depot);
    end if;
    insert into overrides (depot_id, target_on, action, orders, p50, origin_on,
                           model_version, reason, made_by)
    values (depot, day, what,
            case what when 'set' then number
                      when 'withdraw' then null
                      else coalesce(newest.orders, shown.p50) end,
            shown.p50, shown.origin_on, shown.model_version, btrim(why), btrim(planner))
    returning override_id into added;
    return added;
end $$;

revoke all on function add_override(text, date, text, double precision, text, text) from public;
