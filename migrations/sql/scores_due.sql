-- Marks what must be scored: origins whose forecasts changed, and target days whose actual
-- or closing changed, whatever writes them. Null stands for every origin and every day.
-- A count marks its days itself and sets harbor.scores_are_marked, because transition
-- tables would keep ten million rows twice.

create function harbor_score_all() returns trigger language plpgsql as $$
begin
    if coalesce(current_setting('harbor.scores_are_marked', true), '') <> 'yes' then
        insert into scores_due default values;
    end if;
    return null;
end $$;

create function harbor_score_changed_forecasts() returns trigger language plpgsql as $$
begin
    insert into scores_due (origin_on) select distinct origin_on from changed;
    return null;
end $$;

create function harbor_score_closed_days() returns trigger language plpgsql as $$
begin
    insert into scores_due (target_on)
    select distinct day_on::date
    from (select min(target_on) as first_on, max(target_on) as last_on
          from forecasts) forecast
    cross join changed c
    cross join lateral generate_series(
        greatest(c.starts_on, forecast.first_on), least(c.ends_on, forecast.last_on),
        interval '1 day') as day_on
    where c.kind = 'closed';
    return null;
end $$;

create function harbor_score_all_if_depots_close() returns trigger language plpgsql as $$
begin
    if exists (
        select depot_id, city, opened_on, closed_on, closed_weekdays from after
        except
        select depot_id, city, opened_on, closed_on, closed_weekdays from before
    ) then
        insert into scores_due default values;
    end if;
    return null;
end $$;

create trigger demand_scored_again
    after insert or update or delete on demand_versions
    for each statement execute function harbor_score_all();
create trigger forecasts_inserted after insert on forecasts
    referencing new table as changed
    for each statement execute function harbor_score_changed_forecasts();
create trigger forecasts_updated after update on forecasts
    referencing new table as changed
    for each statement execute function harbor_score_changed_forecasts();
create trigger forecasts_deleted after delete on forecasts
    referencing old table as changed
    for each statement execute function harbor_score_changed_forecasts();
create trigger closures_inserted after insert on event_versions
    referencing new table as changed
    for each statement execute function harbor_score_closed_days();
create trigger closures_updated after update on event_versions
    referencing old table as changed
    for each statement execute function harbor_score_closed_days();
create trigger closures_changed after update on event_versions
    referencing new table as changed
    for each statement execute function harbor_score_closed_days();
create trigger closures_deleted after delete on event_versions
    referencing old table as changed
    for each statement execute function harbor_score_closed_days();
create trigger depots_closed after update on depots
    referencing old table as before new table as after
    for each statement execute function harbor_score_all_if_depots_close();

-- Everything is compared once.
insert into scores_due default values;
