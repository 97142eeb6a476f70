-- What every role may do in a new database, and a page that was broken into could do harm
-- with: make large objects and temporary tables, and hold the advisory locks that a load
-- waits for. A superuser runs this in our database, which must be ours alone; 'harbor db
-- upgrade' and 'harbor db roles' do it where they are run by one. Safe to repeat.

do $$
declare
    owner name := (select tableowner from pg_tables
                   where schemaname = current_schema() and tablename = 'overrides');
    each regprocedure;
begin
    execute format('revoke temporary on database %I from public', current_database());
    execute format('grant temporary on database %I to %I, harbor_writer',
                   current_database(), owner);
    for each in
        select oid from pg_proc
        where pronamespace = 'pg_catalog'::regnamespace
          and proname ~ '^(lo_|loread$|lowrite$|pg_(try_)?advisory_)'
    loop
        execute format('revoke execute on function %s from public', each);
    end loop;
    for each in
        select oid from pg_proc
        where pronamespace = 'pg_catalog'::regnamespace
          and proname ~ '^pg_(try_)?advisory_'
    loop
        execute format('grant execute on function %s to %I, harbor_writer', each, owner);
    end loop;
end $$;

-- The limits that a role cannot lift by itself, and one that it can.
alter role harbor_dashboard connection limit 30;
alter role harbor_dashboard set temp_file_limit = '2GB';
alter role harbor_dashboard set idle_in_transaction_session_timeout = '60s';
