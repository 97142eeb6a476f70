-- The functions of triggers, which their tables held.

drop function harbor_mark_all_days();
drop function harbor_mark_changed_days();
drop function harbor_mark_all_if_zones_change();
drop function harbor_mark_all_if_new_depots();
drop function harbor_keep_superseded();
drop function harbor_score_all_if_depots_close();
