-- Takes everything of the first migration away but the tables; roles stay, because they
-- belong to the whole cluster.

do $$
begin
    if to_regrole('harbor_dashboard') is not null then
        alter default privileges in schema {schema}
            revoke select on tables from harbor_dashboard;
        revoke select on all tables in schema {schema} from harbor_dashboard;
        revoke usage on schema {schema} from harbor_dashboard;
    end if;
    if to_regrole('harbor_reader') is not null then
        revoke usage on schema {schema} from harbor_reader;
    end if;
end $$;

drop function undo_changes(text, bigint[], text);
drop function add_overrides(jsonb, text, text);
drop function save_city_settings(
    text, integer, double precision, double precision, double precision, text, text, bigint,
    boolean);
drop function decide_vans(text, date, text, integer, integer, text, text, bigint, boolean);
drop view latest_forecasts, latest_totals, daily_scores, daily_demand, events, shown_forecast,
    live_forecasts;
