-- Planners' writing: overrides in one call for many days, and the settings of a city. The
-- dashboard's role may call these two functions and write nothing else. They run as their
-- owner. What they refuse is raised as HF001, with sentences for people.

drop function add_override(text, date, text, double precision, text, text);

-- Appends the settings of a city.
--   seen: the settings_id that the planner has seen; null for none.
create function save_city_settings(
    of_city text, of_vans integer, per_van double precision, level double precision,
    drivers double precision, planner text, seen bigint
) returns bigint
language plpgsql security definer set search_path = {schema}, pg_temp as $$
declare
    newest city_settings%rowtype;
    added bigint;
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
    insert into city_settings (city, vans, orders_per_van, service_level,
                               drivers_per_van, made_by)
    values (of_city, of_vans, per_van, level, drivers, btrim(planner))
    returning settings_id into added;
    return added;
end $$;

revoke all on function add_overrides(jsonb, text, text) from public;
revoke all on function save_city_settings(
    text, integer, double precision, double precision, double precision, text, bigint)
    from public;
