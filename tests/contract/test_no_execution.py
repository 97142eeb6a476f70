"""Nothing that comes in is ever run: no pickle, no eval, no shell, no SQL put together."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("forecaster", "pipelines", "dashboard", "migrations", "deploy")
SOURCES = {
    str(path.relative_to(ROOT)): path.read_text()
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*.py"))
}

# What turns bytes into running code, or a string into a command.
MODULES = {
    "pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "jsonpickle",
    "marshal", "shelve", "commands", "pty", "code", "codeop",
}  # fmt: skip
BUILTINS = {"eval", "exec", "compile", "__import__"}
CALLS = {
    "os.system", "os.popen", "os.spawnl", "os.spawnv", "os.startfile",
    "subprocess.getoutput", "subprocess.getstatusoutput",
    "asyncio.create_subprocess_shell", "yaml.load", "yaml.full_load",
    "yaml.unsafe_load", "yaml.load_all", "np.loads", "np.fromregex", "pd.read_pickle",
    "pd.eval", "torch.load", "tempfile.mktemp",
}  # fmt: skip
METHODS = {"to_pickle", "read_pickle", "loads_pickle"}

STATEMENT = (
    "select|insert|update|delete|create|drop|alter|grant|revoke|truncate|set|with|copy|"
    "lock|analyze|vacuum|do|call|merge"
)
# English sentences begin with one capital letter.
SQL = re.compile(rf"\s*(?:{STATEMENT}|{STATEMENT.upper()})\s")
CONSTANT = re.compile(r"[A-Z][A-Z0-9_]*")

NAMES_OF_OURS = {
    "pipelines/store/ingest.py": ({"columns"}, "of a table of ours, by its kind"),
    "pipelines/store/forecasts.py": ({"table", "names"}, "of pipelines.schema"),
    "pipelines/store/withdrawal.py": ({"names"}, "of tables of ours, by their kinds"),
    "pipelines/store/observed_zeros.py": ({"table"}, "of a tuple beside it"),
    "pipelines/cli/db.py": ({"role"}, "a sentence for people"),
}
"""What else a statement may be put together from, and why that is no input."""


def offences(source, may_name=frozenset()):
    """What a source does that it must not, as sentences."""
    tree = ast.parse(source)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [
                f"imports {each.name}" for each in node.names if banned(each.name)
            ]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [f"imports {node.module}"] * banned(node.module)
            whole = [f"{node.module}.{each.name}" for each in node.names]
            found += [f"imports {name}" for name in whole if name in CALLS]
        elif isinstance(node, ast.Call):
            found += wrong_call(node, constants(tree), may_name)
        elif isinstance(node, ast.JoinedStr) and SQL.match(shape(node)):
            inside = [v.value for v in node.values if isinstance(v, ast.FormattedValue)]
            found += put_together(inside, may_name)
        elif (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mod | ast.Add)
            and SQL.match(shape(node.left))
        ):
            found.append(f"puts SQL together: {ast.unparse(node)}")
    return found


def banned(module):
    return module.split(".")[0] in MODULES


def wrong_call(call, known, may_name):
    name = ast.unparse(call.func)
    given = {each.arg: each.value for each in call.keywords}
    if name in BUILTINS or name in CALLS or name.rpartition(".")[2] in METHODS:
        yield f"calls {name}"
    shell = given.get("shell")
    if shell is not None and not (isinstance(shell, ast.Constant) and not shell.value):
        yield f"gives {name} a shell"
    pickles = given.get("allow_pickle")
    refuses = isinstance(pickles, ast.Constant) and pickles.value is False
    if name in {"np.load", "numpy.load"} and not refuses:
        yield f"lets {name} unpickle"
    if pickles is not None and not refuses:
        yield f"lets {name} pickle"
    if isinstance(call.func, ast.Attribute) and call.func.attr in {"format", "replace"}:
        base = call.func.value
        statement = (
            known.get(base.id, "") if isinstance(base, ast.Name) else shape(base)
        )
        if call.func.attr == "format" and SQL.match(statement):
            inside = [*call.args, *given.values()]
            yield from put_together(inside, may_name)


def put_together(values, may_name):
    for value in values:
        if not is_ours(value, may_name):
            yield f"puts {ast.unparse(value)} into SQL"


def is_ours(value, may_name):
    """Constants of a module, and what a function of ours makes of such."""
    if isinstance(value, ast.Constant):
        return True
    if isinstance(value, ast.Name):
        return bool(CONSTANT.fullmatch(value.id)) or value.id in may_name
    if isinstance(value, ast.Attribute):
        return bool(CONSTANT.fullmatch(value.attr))
    if isinstance(value, ast.Subscript):
        return is_ours(value.value, may_name)
    if isinstance(value, ast.Call):
        given = [*value.args, *(each.value for each in value.keywords)]
        return bool(given) and all(is_ours(each, may_name) for each in given)
    return False


def shape(node):
    """The text of a string, with {} where something is put in; '' of anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(shape(value) or "{}" for value in node.values)
    return ""


def constants(tree):
    """Strings that a module names in capitals."""
    return {
        node.targets[0].id: shape(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


@pytest.mark.parametrize("path", SOURCES)
def test_a_source_runs_nothing_that_comes_in(path):
    may_name, _ = NAMES_OF_OURS.get(path, (frozenset(), ""))
    assert not offences(SOURCES[path], may_name), path


@pytest.mark.parametrize("path", NAMES_OF_OURS)
def test_every_exception_is_still_needed(path):
    for name in NAMES_OF_OURS[path][0]:
        assert any(f"puts {name} into SQL" in said for said in offences(SOURCES[path]))


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from marshal import loads",
        "from os import system",
        "eval(typed)",
        "exec(compile(typed, '', 'exec'))",
        "os.system('ls')",
        "subprocess.run(command, shell=True)",
        "subprocess.run(command, shell=asked)",
        "yaml.load(text)",
        "np.load(file)",
        "np.load(file, allow_pickle=True)",
        "np.load(file, allow_pickle=asked)",
        "np.save(file, array, allow_pickle=True)",
        "frame.to_pickle(path)",
        "sa.text(f'select * from {table}')",
        "sa.text(f'select * from orders where depot_id = {depot!r}')",
        "link.execute('delete from orders where a = %s' % typed)",
        "link.execute('select ' + typed)",
        "link.execute('select {}'.format(typed))",
        "STATEMENT = 'drop table {}'\nlink.execute(STATEMENT.format(typed))",
        "link.execute(f'SELECT {typed}')",
    ],
)
def test_an_offence_is_found(source):
    assert offences(source)


@pytest.mark.parametrize(
    "source",
    [
        "np.load(file, allow_pickle=False)",
        "subprocess.run(command, shell=False)",
        "sa.text(f'select {COLUMNS} from orders')",
        "sa.text(f'select {schema.COLUMNS} from orders where {is_open(\"day\")}')",
        "sql.SQL('grant select on {} to {}').format(sql.Identifier(table))",
        "say(f'Set {name} first.')",
        "re.compile(pattern)",
    ],
)
def test_what_is_harmless_is_left_alone(source):
    assert not offences(source)
