-- The roles beside the owner of the tables, and exactly their privileges. Run by the owner
-- with 'harbor db upgrade' and 'harbor db roles'; safe to repeat. A role that the owner may
-- not create is left out.

do $$
declare
    ours name := current_schema();
    is_superuser boolean := (select rolsuper from pg_roles where rolname = current_user);
    each name;
begin
    -- One at a time: concurrent grants on a table fail.
    perform pg_advisory_xact_lock(x'48415243'::int);
    foreach each in array array['harbor_writer', 'harbor_dashboard', 'harbor_reader'] loop
        if to_regrole(each) is null then
            continue when not is_superuser
                and not (select rolcreaterole from pg_roles where rolname = current_user);
            execute format('create role %I nologin', each);
            if not is_superuser then
                -- Without it, who created a role may not SET ROLE to it.
                execute format('grant %I to current_user', each);
            end if;
        end if;
        execute format('grant usage on schema %I to %I', ours, each);
        execute format('revoke all on all tables in schema %I from %I', ours, each);
        -- Others read the views with a promise, and no table.
        continue when each = 'harbor_reader';
        execute format('grant select on all tables in schema %I to %I', ours, each);
    end loop;
    if to_regrole('harbor_reader') is not null then
        grant select on latest_forecasts, latest_totals, daily_scores, daily_demand
            to harbor_reader;
    end if;
    -- A restored function is executable by every role, as a new one is.
    revoke all on function add_overrides, save_city_settings, decide_vans, undo_changes
        from public;
    if to_regrole('harbor_dashboard') is not null then
        grant execute on function
            add_overrides(jsonb, text, text),
            undo_changes(text, bigint[], text),
            save_city_settings(text, integer, double precision, double precision,
                               double precision, text, text, bigint, boolean),
            decide_vans(text, date, text, integer, integer, text, text, bigint, boolean)
            to harbor_dashboard;
    end if;
    if to_regrole('harbor_writer') is not null then
        -- Planners alone write their tables, the owner alone alembic_version.
        for each in
            select tablename from pg_tables
            where schemaname = ours 
              and tablename not in
                  ('overrides', 'city_settings', 'van_decisions', 'alembic_version')
              and pg_has_role(tableowner, 'usage')
        loop
            execute format('grant insert, update, delete on %I to harbor_writer', each);
        end loop;
        if current_setting('server_version_num')::int >= 170000 then
            -- For ANALYZE after a load; before 17 autovacuum updates the statistics.
            grant maintain on order_counts to harbor_writer;
        end if;
    end if;
end $$;
