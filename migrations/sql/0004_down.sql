-- Takes everything of 0004 away.

drop trigger demand_scored_again on demand_versions;
drop trigger forecasts_inserted on forecasts;
drop trigger forecasts_updated on forecasts;
drop trigger forecasts_deleted on forecasts;
drop trigger closures_inserted on event_versions;
drop trigger closures_updated on event_versions;
drop trigger closures_changed on event_versions;
drop trigger closures_deleted on event_versions;
drop trigger depots_closed on depots;
drop function harbor_score_all();
drop function harbor_score_changed_forecasts();
drop function harbor_score_closed_days();
drop function harbor_score_all_if_depots_close();
drop table scores_due;
