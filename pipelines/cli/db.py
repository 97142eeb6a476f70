"""`harbor db`: the database and its tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from forecaster.errors import NothingToDoError
from pipelines.cli.command_group import CommandGroup
from pipelines.cli.console import echo, show_json, show_line, show_result, show_table
from pipelines.cli.context import (
    AsJson,
    make_inbox,
    open_context,
    open_database,
    upgrade_embedded,
)

if TYPE_CHECKING:
    from pipelines.database import roles
    from pipelines.database.schema_version import SchemaStatus

MIB = 2**20

app = CommandGroup("db", "The database and its tables.")


@app.command("upgrade")
def upgrade(as_json: AsJson = False) -> None:
    """Upgrades tables and roles to what this program needs.

    Example: `harbor db upgrade`
    """
    from pipelines.database import migrate, roles, schema_version

    with open_database() as context:
        make_inbox(context.settings)
        migrate.upgrade(context.engine)
        grants = roles.ensure_from_settings(context.engine, context.settings)
        schema = schema_version.status(context.engine)
    _show_status(schema, as_json)
    _warn_of_incomplete_roles(grants)


@app.command("roles")
def show_roles(as_json: AsJson = False) -> None:
    """Creates missing roles, except the owner, and shows the rights of each role.

    A role can log in once HARBOR_WRITER_PASSWORD or HARBOR_DASHBOARD_PASSWORD is set for it.

    Example: `harbor db roles`
    """
    from pipelines.database import roles, schema_version

    with open_database() as context:
        schema_version.require_current(context.engine)
        grants = roles.ensure_from_settings(context.engine, context.settings)
    if as_json:
        show_json([vars(role) for role in grants])
    else:
        rows = [
            (role.role, role.is_there, role.has_login, role.reads, role.writes)
            for role in grants
        ]
        columns = ("role", "exists", "can log in", "tables and views read", "written")
        show_table("Roles other than the owner of the tables", columns, rows)
    _warn_of_incomplete_roles(grants)


def _warn_of_incomplete_roles(grants: list[roles.RoleGrants]) -> None:
    from pipelines.database import roles

    missing = [role.role for role in grants if not role.is_there]
    if missing:
        statements = "; ".join(f"create role {role}" for role in missing)
        echo(
            f"This user may not create {' and '.join(missing)}. Until a superuser has "
            f"run `{statements}`, and you have run 'harbor db roles', everything runs as "
            "the owner of the tables."
        )
    for role in grants:
        if role.too_much:
            echo(
                f"{role.role} may still use {', '.join(role.too_much)}, as every role of "
                "this database may. Only a superuser can take that away: run "
                f"`psql --file={roles.PUBLIC_RIGHTS}` as one, in this database."
            )


@app.command("status")
def status(as_json: AsJson = False) -> None:
    """Shows the schema version of the database, and the one this program needs.

    Example: `harbor db status --json`
    """
    from pipelines.database import schema_version

    with open_database() as context:
        _show_status(schema_version.status(context.engine), as_json)


def _show_status(schema: SchemaStatus, as_json: bool) -> None:
    revision, head = schema.revision, schema.head
    sentence = f"The database is at schema {revision or 'none'}; {head} is needed."
    if schema.is_current:
        sentence = f"The database is at schema {revision}, as this program needs."
    answer = {"found": revision, "wanted": head, "current": schema.is_current}
    show_result(answer, sentence, as_json)


@app.command("check")
def check(as_json: AsJson = False) -> None:
    """Checks that the migrations lead to the tables this program expects.

    Example: `harbor db check`
    """
    from pipelines.database import migrate, schema_version

    with open_database() as context:
        if context.settings.database_url is None:
            upgrade_embedded(context.engine)
        schema_version.require_current(context.engine)
        migrate.check(context.engine)
    sentence = "The migrations lead to the tables of pipelines/schema."
    show_result({"same": True}, sentence, as_json)


@app.command("prune")
def prune(as_json: AsJson = False) -> None:
    """Deletes old artefacts, and old orders and forecasts if a setting limits their age.

    Artefacts of models that nothing needs are deleted after HARBOR_KEEP_ARTEFACTS_DAYS,
    orders after HARBOR_KEEP_ORDERS_DAYS. Daily demand is never deleted, but days whose orders
    are deleted are frozen: no later file changes their count, and if one of their orders is
    loaded again with a later date, it is counted on both days. Forecasts and scores are
    deleted after HARBOR_KEEP_FORECASTS_DAYS. Each night does the same.

    Example: `HARBOR_KEEP_ORDERS_DAYS=400 harbor db prune`
    """
    from pipelines import pruning
    from pipelines.runs.ledger import recorded

    with open_context() as context, recorded(context.engine, "prune") as run:
        settings = context.settings
        pruned = pruning.prune(run.engine, settings, context.now)
        run.metrics |= pruned.metrics()
        if as_json:
            show_json(asdict(pruned))
        if pruned.is_empty:
            raise NothingToDoError(
                "Nothing is old enough to remove according to HARBOR_KEEP_ARTEFACTS_DAYS "
                f"({settings.keep_artefacts_days}), HARBOR_KEEP_ORDERS_DAYS "
                f"({settings.keep_orders_days or 'not set'}) and "
                f"HARBOR_KEEP_FORECASTS_DAYS ({settings.keep_forecasts_days or 'not set'})."
            )
    if as_json:
        return
    removed, deleted, dropped = pruned.artefacts, pruned.forecasts, pruned.orders
    echo(f"Artefacts removed: {removed.files} ({removed.size_bytes / MIB:.1f} MiB).")
    if deleted is not None:
        echo(
            f"Forecasts and scores deleted: {deleted.rows:,} rows of {deleted.origins} "
            "origins."
        )
    if dropped is not None:
        echo(
            f"Orders dropped: {dropped.orders:,}. Demand of the days before "
            f"{dropped.before} is frozen."
        )


@app.command("url")
def url(as_json: AsJson = False) -> None:
    """Prints the database's address, password included, for psql and other tools.

    The embedded database is reachable only while a command such as `harbor dashboard` runs.

    Example: `psql "$(harbor db url)"`
    """
    from pipelines.database.engine import database_url
    from pipelines.settings import Settings

    with database_url(Settings.load()) as address:
        if as_json:
            show_json({"url": address})
        else:
            show_line(address)
