"""Let planners change a number with a reason; the dashboard's role can do no more.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

ROLE = "harbor_dashboard"

# Runs as its owner: who may execute it may append overrides and nothing else. What it
# refuses is raised under HF001 as a sentence for people.
ADD_OVERRIDE = """
create function add_override(
    depot text, day date, what text, number double precision, why text, planner text
) returns bigint
language plpgsql security definer set search_path = {schema}, pg_temp as $$
declare
    shown forecasts%rowtype;
    newest overrides%rowtype;
    added bigint;
begin
    -- Two planners at one day: the second sees what the first has done.
    perform pg_advisory_xact_lock(hashtextextended(depot || '|' || day, 5));
    select f.* into shown from forecasts f
    left join models m on m.version = f.model_version and m.role = 'champion'
    where f.depot_id = depot and f.target_on = day
      and f.origin_on = (select max(origin_on) from forecasts)
    order by m.version is not null desc, f.made_at desc limit 1;
    if not found then
        raise exception using errcode = 'HF001', message = format(
            'Depot %s has no forecast of %s; only days ahead that are forecast can be '
            'changed. Choose another day.', depot, day);
    end if;
    select o.* into newest from overrides o
    where o.depot_id = depot and o.target_on = day order by override_id desc limit 1;
    if newest.action = 'lock' and what <> 'unlock' then
        raise exception using errcode = 'HF001', message = format(
            '%s of depot %s was locked by %s; a locked day is not changed. Unlock it '
            'first.', day, depot, newest.made_by);
    end if;
    if what = 'unlock' and newest.action is distinct from 'lock' then
        raise exception using errcode = 'HF001', message = format(
            '%s of depot %s is not locked. Load the page again.', day, depot);
    end if;
    if what = 'withdraw' and newest.orders is null then
        raise exception using errcode = 'HF001', message = format(
            '%s of depot %s was not changed, so nothing can be taken back. Load the '
            'page again.', day, depot);
    end if;
    insert into overrides (depot_id, target_on, action, orders, p50, origin_on,
                           model_version, reason, made_by)
    values (depot, day, what,
            case what when 'set' then number
                      when 'withdraw' then null
                      else coalesce(newest.orders, shown.p50) end,
            shown.p50, shown.origin_on, shown.model_version, btrim(why), btrim(planner))
    returning override_id into added;
    return added;
end $$
"""
SIGNATURE = "add_override(text, date, text, double precision, text, text)"

# A role is the whole cluster's: it is made where the owner may, and stays on the way down.
GRANT = """
do $$
begin
    if to_regrole('{role}') is null
       and (select rolsuper or rolcreaterole from pg_roles where rolname = current_user)
    then
        create role {role} nologin;
    end if;
    if to_regrole('{role}') is not null then
        grant usage on schema {schema} to {role};
        grant select on all tables in schema {schema} to {role};
        alter default privileges in schema {schema} grant select on tables to {role};
        grant execute on function {signature} to {role};
    end if;
end $$
"""
REVOKE = """
do $$
begin
    if to_regrole('{role}') is not null then
        alter default privileges in schema {schema}
            revoke select on tables from {role};
        revoke select on all tables in schema {schema} from {role};
        revoke usage on schema {schema} from {role};
    end if;
end $$
"""


def upgrade() -> None:
    op.create_table(
        "overrides",
        sa.Column("override_id", sa.BigInteger(), sa.Identity(always=True)),
        sa.Column("depot_id", sa.Text(), nullable=False),
        sa.Column("target_on", sa.Date(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("orders", sa.Double()),
        sa.Column("p50", sa.Double(), nullable=False),
        sa.Column("origin_on", sa.Date(), nullable=False),
        sa.Column("model_version", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column(
            "made_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "action in ('set','lock','unlock','withdraw')",
            name=op.f("ck_overrides_action"),
        ),
        sa.CheckConstraint(
            "case when action = 'withdraw' then orders is null "
            "else coalesce(orders >= 0 and orders < 1e7, false) end",
            name=op.f("ck_overrides_orders"),
        ),
        sa.CheckConstraint(
            "length(btrim(reason)) between 1 and 500", name=op.f("ck_overrides_reason")
        ),
        sa.CheckConstraint(
            "length(btrim(made_by)) between 1 and 100",
            name=op.f("ck_overrides_made_by"),
        ),
        sa.ForeignKeyConstraint(
            ["depot_id"], ["depots.depot_id"], name=op.f("fk_overrides_depot_id")
        ),
        sa.PrimaryKeyConstraint("override_id", name=op.f("pk_overrides")),
    )
    op.create_index(
        "ix_overrides_depot_day", "overrides", ["depot_id", "target_on", "override_id"]
    )
    op.execute(_here(ADD_OVERRIDE))
    op.execute(_here("revoke all on function {signature} from public"))
    op.execute(_here(GRANT))


def downgrade() -> None:
    op.execute(_here(REVOKE))
    op.execute(_here("drop function {signature}"))
    op.drop_table("overrides")


def _here(statement: str) -> str:
    """The statement with its names: of the schema the tables live in, and of ours."""
    schema = op.get_bind().scalar(sa.text("select quote_ident(current_schema())"))
    names = {"{schema}": str(schema), "{role}": ROLE, "{signature}": SIGNATURE}
    for name, value in names.items():
        statement = statement.replace(name, value)
    return statement
