"""Input is never executed. Ruff's S and TID251 forbid pickle, eval and shells.

Here is what they leave open: NumPy's pickles, and statements put together from text.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("forecaster", "pipelines", "dashboard", "migrations", "deploy")
SOURCES = {
    str(path.relative_to(ROOT)): path.read_text()
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
}
# English sentences begin with one capital letter.
VERBS = (
    "select|insert|update|delete|create|drop|alter|grant|revoke|truncate|set|with|copy|"
    "lock|analyze|vacuum|do|call|merge"
)
SQL = re.compile(rf"\s*(?:{VERBS}|{VERBS.upper()})\s")
OWN_NAMES = {
    "pipelines/store/ingest.py": {"table"},  # of the schema, by the kind of a file
    "pipelines/store/withdrawal.py": {"names"},  # of tables, by their kinds
    "pipelines/store/versions.py": {"names"},  # of two tables, and of their columns
    "pipelines/store/observed_zeros.py": {"table"},  # of a tuple beside it
    "pipelines/store/partial_days.py": {"table", "statement"},  # of a tuple beside it
    # Constants of its callers, whose calls are read as statements, too.
    "pipelines/store/temporary.py": {"table", "query"},
    "pipelines/schema/reader_views.py": {"name", "statement"},  # of the views beside it
    "pipelines/cli/db.py": {"role"},  # a sentence for people
}
"""Names that a statement may contain besides constants of a module."""


def composed_statements(source, own_names=frozenset()):
    """SQL with a value in it that is neither a constant nor made of constants."""
    tree = ast.parse(source)
    constants = {
        ast.unparse(node.targets[0]): node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
    }
    for node in ast.walk(tree):
        values = []
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                each.value if isinstance(each, ast.Constant) else "{}"
                for each in node.values
            )
            values = [v.value for v in node.values if isinstance(v, ast.FormattedValue)]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.Add):
            text, values = text_of(node.left), [node.right]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            statement = constants.get(ast.unparse(node.func.value), node.func.value)
            text = text_of(statement) if node.func.attr == "format" else ""
            values = [*node.args, *(each.value for each in node.keywords)]
            if ast.unparse(node.func) == "temporary.create":
                text, values = "create ", node.args[1:3]
        if values and SQL.match(text):
            yield from (
                ast.unparse(each) for each in values if not is_own(each, own_names)
            )


def text_of(node):
    found = node.value if isinstance(node, ast.Constant) else ""
    return found if isinstance(found, str) else ""


def is_own(value, own_names):
    """Constants of a module, and what a function makes of nothing but such."""
    match value:
        case ast.Constant():
            return True
        case ast.Name(name) | ast.Attribute(attr=name):
            return name.isupper() or name in own_names
        case ast.Subscript(value=inner):
            return is_own(inner, own_names)
        case ast.Call(args=args, keywords=keywords):
            given = [*args, *(each.value for each in keywords)]
            return bool(given) and all(is_own(each, own_names) for each in given)
    return False


def test_statements_are_put_together_from_constants_only():
    for path, source in SOURCES.items():
        composed = list(composed_statements(source, OWN_NAMES.get(path, set())))
        assert not composed, f"{path} puts {composed} into SQL"


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ("sa.text(f'select * from {table}')", True),
        ("link.execute('delete from orders where a = %s' % typed)", True),
        ("link.execute('select ' + typed)", True),
        ("link.execute('select {}'.format(typed))", True),
        (
            "sa.text(f'select {schema.COLUMNS} from orders where {open(\"day\")}')",
            False,
        ),
        ("sql.SQL('grant {} to {}').format(sql.Identifier(table))", False),
        ("say(f'Set {name} first.')", False),
        ("temporary.create(link, typed, COUNT)", True),
        ("temporary.create(link, 'changes', typed)", True),
        ("temporary.create(link, 'changes', COUNT.format(TABLE), values)", False),
    ],
)
def test_a_value_in_a_statement_is_found(source, is_found):
    assert bool(list(composed_statements(source))) == is_found


def test_numpy_unpickles_nothing():
    for path, source in SOURCES.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call):
                pickles = [k.value for k in node.keywords if k.arg == "allow_pickle"]
                refuses = [ast.unparse(each) for each in pickles] == ["False"]
                loads = ast.unparse(node.func) in {"np.load", "numpy.load"}
                assert refuses or not (loads or pickles), f"{path}: {ast.unparse(node)}"


def test_no_source_excuses_itself_from_the_rules_against_execution():
    for path, source in SOURCES.items():
        assert not re.search(r"noqa:.*\b(S102|S30[1267]|S60[2459]|TID251)", source), (
            path
        )
