-- Planners' writing: overrides in one call for many days, the settings of a city, and what is
-- decided about its vans on a day. The dashboard's role may call these functions and write nothing else. They run as their
-- owner. What they refuse is raised as HF001, with sentences for people.

-- Appends overrides, all or none.
--   changes: a list of objects, of different days: depot_id, target_on, orders (null: those of
--     the model again), seen (the newest override_id of that day that the planner has seen; null
--     for none), is_undo (whether the number and the reason before `seen` count again, instead of
--     `orders` and `why`).
create function add_overrides(changes jsonb, why text, planner text) returns void
language plpgsql security definer set search_path = {schema}, pg_temp as $$
declare
    change record;
    shown forecasts%rowtype;
    newest overrides%rowtype;
    before overrides%rowtype;
    place text;
    refusal text;
    refusals text[] := '{}';
begin
    -- Two planners at once: the second sees what the first has done.
    perform pg_advisory_xact_lock(x'48415251'::int);
    for change in
        select * from jsonb_to_recordset(changes)
            as c(depot_id text, target_on date, orders float8, seen bigint, is_undo boolean)
    loop
        place := to_char(change.target_on, 'Dy FMDD Mon') || ' at ' || coalesce(
            (select d.name from depots d where d.depot_id = change.depot_id),
            change.depot_id);
        select o.* into newest from overrides o
        where o.depot_id = change.depot_id and o.target_on = change.target_on
        order by override_id desc limit 1;
        select f.* into shown
        from forecasts f join shown_forecast using (origin_on, model_version)
        where f.depot_id = change.depot_id and f.target_on = change.target_on;
        refusal := case
            when shown.depot_id is null then
                ' is not among the days ahead that are forecast. Choose another day.'
            when newest.override_id is distinct from change.seen then
                format(' was %s by %s after you had opened it. Look at it again, then '
                       'save.', coalesce('set to ' || round(newest.orders),
                                         'given back to the model'), newest.made_by)
            when change.orders is null and newest.orders is null
                 and (change.is_undo is not true or newest.override_id is null) then
                ' has no override, so there is nothing to take back. Load the page again.'
        end;
        if refusal is not null then
            refusals := refusals || (place || refusal);
            continue;
        end if;
        before := null;
        if change.is_undo then
            select o.* into before from overrides o
            where o.depot_id = change.depot_id and o.target_on = change.target_on
              and o.override_id < newest.override_id
            order by override_id desc limit 1;
            -- A day that was closed after it was set is closed.
            change.orders := case when shown.basis = 'closed' and before.point > 0 then null
                                  else before.orders end;
        end if;
        insert into overrides (depot_id, target_on, orders, point, origin_on, model_version,
                               reason, made_by, undoes)
        values (change.depot_id, change.target_on, change.orders, shown.point,
                shown.origin_on, shown.model_version,
                case when change.is_undo is not true then btrim(why)
                     -- The row before may be the undo of a change that has nothing to do with this.
                     when newest.undoes is null and before.orders is null then newest.reason
                     else before.reason end, btrim(planner),
                -- To undo an undo is to set the number again.
                case when change.is_undo and newest.undoes is null
                     then newest.override_id end);
    end loop;
    if cardinality(refusals) > 0 then
        raise exception using errcode = 'HF001', message =
            array_to_string(refusals[1:5], ' ')
            || case when cardinality(refusals) > 5
                    then format(' The same holds for %s more.', cardinality(refusals) - 5)
                    else '' end;
    end if;
end $$;

-- Appends the settings of a city.
--   seen: the settings_id that the planner has seen; null for none.
--   is_undo: whether these take back the newest; the caller passes those that counted before.
create function save_city_settings(
    of_city text, of_vans integer, per_van double precision, level double precision,
    drivers double precision, of_shifts text, planner text, seen bigint,
    is_undo boolean default false
) returns void
language plpgsql security definer set search_path = {schema}, pg_temp as $$
declare
    newest city_settings%rowtype;
begin
    perform pg_advisory_xact_lock(x'48415251'::int);
    if not exists (select from depots d where d.city = of_city) then
        raise exception using errcode = 'HF001', message = format(
            'No depot is in the city %s, so it has no settings. Choose another city.',
            of_city);
    end if;
    select s.* into newest from city_settings s
    where s.city = of_city order by settings_id desc limit 1;
    if newest.settings_id is distinct from seen then
        raise exception using errcode = 'HF001', message = format(
            'The settings of %s were saved by %s after you had opened them. Look at them '
            'again, then save.', of_city, newest.made_by);
    end if;
    insert into city_settings (city, vans, orders_per_van, service_level, drivers_per_van,
                               shifts, made_by, undoes)
    values (of_city, of_vans, per_van, level, drivers, of_shifts, btrim(planner),
            -- To undo an undo is to set them again.
            case when is_undo and newest.undoes is null then newest.settings_id end);
end $$;

-- Appends what is decided about the vans of a city on a day.
--   seen: the day's newest decision_id that the planner has seen; null for none.
--   is_undo: whether this takes back the newest; the caller passes what counted before.
create function decide_vans(
    of_city text, of_day date, decided text, hired integer, broken integer, why text,
    planner text, seen bigint, is_undo boolean default false
) returns void
language plpgsql security definer set search_path = {schema}, pg_temp as $$
declare
    newest van_decisions%rowtype;
begin
    perform pg_advisory_xact_lock(x'48415251'::int);
    if not exists (
        select from forecasts f join shown_forecast using (origin_on, model_version)
        join depots d using (depot_id) where d.city = of_city and f.target_on = of_day
    ) then
        raise exception using errcode = 'HF001', message = format(
            '%s is not among the days ahead of %s. Choose another day.',
            to_char(of_day, 'Dy FMDD Mon'), of_city);
    end if;
    select v.* into newest from van_decisions v
    where v.city = of_city and v.target_on = of_day order by decision_id desc limit 1;
    if newest.decision_id is distinct from seen then
        raise exception using errcode = 'HF001', message = format(
            'The vans of %s on %s were decided on by %s after you had opened them. Look at them '
            'again, then save.', of_city, to_char(of_day, 'Dy FMDD Mon'), newest.made_by);
    end if;
    insert into van_decisions (city, target_on, kind, extra, off_road, note, made_by, undoes)
    values (of_city, of_day, decided, hired, broken, btrim(why), btrim(planner),
            case when is_undo and newest.undoes is null then newest.decision_id end);
end $$;

-- Takes back changes that a planner saved together, with one more row for each: what counted
-- before counts again; of a city's first settings, its estimated vans. To undo an undo is to set
-- what it took back again.
--   what: their kind: 'orders', 'vans' or 'settings'.
--   ids: their numbers in that kind's table.
create function undo_changes(what text, ids bigint[], planner text) returns void
language plpgsql security definer set search_path = {schema}, pg_temp as $$
declare
    n_known bigint;
begin
    select count(*) into n_known from (
        select override_id from overrides where what = 'orders' and override_id = any (ids)
        union all
        select decision_id from van_decisions where what = 'vans' and decision_id = any (ids)
        union all
        select settings_id from city_settings where what = 'settings' and settings_id = any (ids)
    ) known;
    if n_known = 0 or n_known <> cardinality(ids) then
        raise exception using errcode = 'HF001', message =
            'What is to be undone is not known. Load the page again.';
    end if;
    if what = 'orders' then
        perform add_overrides(jsonb_agg(jsonb_build_object(
            'depot_id', depot_id, 'target_on', target_on, 'seen', override_id, 'is_undo', true)
        ), '', planner) from overrides where override_id = any (ids);
    elsif what = 'vans' then
        perform decide_vans(v.city, v.target_on, b.kind, coalesce(b.extra, 0),
                            coalesce(b.off_road, 0), coalesce(b.note, ''), planner,
                            v.decision_id, true)
        from van_decisions v left join lateral (
            select * from van_decisions e
            where e.city = v.city and e.target_on = v.target_on and e.decision_id < v.decision_id
            order by e.decision_id desc limit 1
        ) b on true
        where v.decision_id = any (ids);
    else
        -- Without settings before, the defaults of `CitySettings`.
        perform save_city_settings(s.city, b.vans, b.orders_per_van,
                                   coalesce(b.service_level, 0.9),
                                   coalesce(b.drivers_per_van, 1), coalesce(b.shifts, ''),
                                   planner, s.settings_id, true)
        from city_settings s left join lateral (
            select * from city_settings e
            where e.city = s.city and e.settings_id < s.settings_id
            order by e.settings_id desc limit 1
        ) b on true
        where s.settings_id = any (ids);
    end if;
end $$;

revoke all on function add_overrides, save_city_settings, decide_vans, undo_changes from public;
