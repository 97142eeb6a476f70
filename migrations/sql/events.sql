-- The newest version of every event that stands. Whoever asks what is on asks this; only
-- what was known to an earlier origin is asked of the versions.

create view events as
select * from event_versions where superseded_at is null and not withdrawn;
