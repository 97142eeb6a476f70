-- Marks the days whose orders must be counted again, whatever writes orders or depots.
-- A load that has marked the days of its own rows sets harbor.days_are_marked, because
-- transition tables would keep ten million rows twice.

create function harbor_mark_all_days() returns trigger language plpgsql as $$
begin
    if coalesce(current_setting('harbor.days_are_marked', true), '') <> 'yes' then
        insert into changed_days (day_on) values ('-infinity');
    end if;
    return null;
end $$;

-- The service day lies within two days of the wall-clock time, whatever the zones.
create function harbor_mark_changed_days() returns trigger language plpgsql as $$
begin
    insert into changed_days (day_on)
    select distinct ordered_local::date + shift
    from (select ordered_local from before union all select ordered_local from after) o
    cross join generate_series(-2, 2) as shift;
    return null;
end $$;

create function harbor_mark_all_if_zones_change() returns trigger language plpgsql as $$
begin
    if exists (select depot_id, timezone from after
               except select depot_id, timezone from before) then
        insert into changed_days (day_on) values ('-infinity');
    end if;
    return null;
end $$;

-- Orders may have come before their depot did; those of a load do not.
create function harbor_mark_all_if_new_depots() returns trigger language plpgsql as $$
begin
    if coalesce(current_setting('harbor.days_are_marked', true), '') <> 'yes'
       and exists (select from after) then
        insert into changed_days (day_on) values ('-infinity');
    end if;
    return null;
end $$;

create trigger orders_inserted after insert on orders
    for each statement execute function harbor_mark_all_days();
create trigger orders_deleted after delete on orders
    for each statement execute function harbor_mark_all_days();
create trigger orders_truncated after truncate on orders
    for each statement execute function harbor_mark_all_days();
create trigger orders_updated after update on orders
    referencing old table as before new table as after
    for each statement execute function harbor_mark_changed_days();
create trigger depots_inserted after insert on depots
    referencing new table as after
    for each statement execute function harbor_mark_all_if_new_depots();
create trigger depots_updated after update on depots
    referencing old table as before new table as after
    for each statement execute function harbor_mark_all_if_zones_change();

-- Everything is counted once.
insert into changed_days (day_on) values ('-infinity');
