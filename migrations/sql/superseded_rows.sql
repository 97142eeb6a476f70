-- Keeps what an update of orders or daily_counts replaces, with the file that had brought
-- it. A load that replaces nothing writes nothing here.

create function harbor_keep_superseded() returns trigger language plpgsql as $$
begin
    insert into superseded_rows (table_name, file_id, content)
    select tg_table_name, b.file_id, to_jsonb(b) from before b;
    return null;
end $$;

create trigger orders_superseded after update on orders
    referencing old table as before
    for each statement execute function harbor_keep_superseded();
create trigger daily_counts_superseded after update on daily_counts
    referencing old table as before
    for each statement execute function harbor_keep_superseded();
