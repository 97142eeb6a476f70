-- Takes 0002 away; an unlocked day keeps the forecast's number, as 0001 wrote it.

drop function add_overrides(jsonb, text, text);
drop function save_city_settings(
    text, integer, double precision, double precision, double precision, text, bigint);

update overrides set orders = p50 where action = 'unlock' and orders is null;
