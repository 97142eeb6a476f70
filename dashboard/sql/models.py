"""SQL of the models."""

# Fits that only judged another model are told with that model.
MODELS = """
select version, role, trained_through, created_at, promoted_at, pruned_at,
       decision_reason, scores
from models
where role <> 'evaluation'
order by (role = 'champion') desc, created_at desc, version desc
limit :row_limit
"""
