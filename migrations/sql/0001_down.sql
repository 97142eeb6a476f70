-- Takes everything of 0001 away; roles stay, because they belong to the whole cluster.

do $$
begin
    if to_regrole('harbor_dashboard') is not null then
        alter default privileges in schema {schema}
            revoke select on tables from harbor_dashboard;
        revoke select on all tables in schema {schema} from harbor_dashboard;
        revoke usage on schema {schema} from harbor_dashboard;
    end if;
end $$;

drop function add_override(text, date, text, double precision, text, text);

drop view events;

drop table backfill_slots, backfills, changed_days, daily_counts, demand_versions, demo_fleet, depots, event_versions, file_repeats, files, forecast_totals, forecasts, frozen_days, models, order_counts, orders, overrides, public_holidays, quarantine, run_lines, runs, score_totals, scores, superseded_rows;

drop function harbor_mark_all_days();
drop function harbor_mark_changed_days();
drop function harbor_mark_all_if_zones_change();
drop function harbor_mark_all_if_new_depots();
drop function harbor_keep_superseded();
