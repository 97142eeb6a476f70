-- Marks that every forecast must be scored again after a change of the days on which depots
-- are open.

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

create trigger depots_closed after update on depots
    referencing old table as before new table as after
    for each statement execute function harbor_score_all_if_depots_close();
