-- The functions of triggers, which their tables held.

drop function harbor_score_all_if_depots_close();
