-- Takes everything of the first migration away but the tables; roles stay, because they
-- belong to the whole cluster.

do $$
begin
    if to_regrole('harbor_dashboard') is not null then
        revoke select on all tables in schema {schema} from harbor_dashboard;
        revoke usage on schema {schema} from harbor_dashboard;
    end if;
    if to_regrole('harbor_reader') is not null then
        revoke usage on schema {schema} from harbor_reader;
    end if;
end $$;

drop function add_overrides, save_city_settings, decide_vans, undo_changes;
drop view latest_forecasts, latest_totals, daily_scores, daily_demand, events, shown_forecast,
    live_forecasts;
