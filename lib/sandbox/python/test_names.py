"""What the names in tests mean, and whether tests test anything. All here is read off the tests' text, which no program can change.

A builtin, what problems take for granted (the prelude), and whatever the tests import or make themselves are what they are, whatever
the program calls so. Tests that import the solution have no other names of that kind from it. To other tests a program's own name of
that kind counts only where they use none of its other names, or use it as the library's could not be used; and so does a name of the
prelude that they do not bring together with what the program returned.
"""
import ast
import builtins
import importlib
import inspect
import re
import symtable

MODULE_ALIASES = {"np": "numpy", "pd": "pandas", "plt": "matplotlib.pyplot", "nx": "networkx", "sp": "scipy", "dt": "datetime"}
FUNCTION_NODES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def used_names(tree):
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def imported_names(tree):
    """{name: module that it comes from}"""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update({(alias.asname or alias.name.partition(".")[0]): alias.name for alias in node.names})
        elif isinstance(node, ast.ImportFrom):
            found.update({alias.asname or alias.name: node.module or "" for alias in node.names})
    return found


def bound_names(code):
    """Names of the module that the tests themselves give a value."""
    found, tables = set(), [symtable.symtable(code, "tests.py", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        symbols = [symbol for symbol in table.get_symbols() if table.get_type() == "module" or symbol.is_declared_global()]
        found |= {symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()}
    return found


def texts(tree):
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def mentions(node):
    """Names, attributes, and words of texts, as in getattr(solution, "f")."""
    words = {word for text in texts(node) for word in re.findall(r"\w+", text)}
    return words | used_names(node) | {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}


def class_names(tree, subjects):
    """Names that may be a class's of the program: with a capital, as functions have none. Solution only holds functions."""
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return {name for name in mentions(tree) | imported | subjects if name[:1].isupper()} - {"Solution"}


def given_names(tree):
    """Each place, by its name, that gives one a value."""
    return [node.id if isinstance(node, ast.Name) else node.arg for node in ast.walk(tree)
            if isinstance(node, ast.arg) or isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def fits(value, name, tree):
    """Whether the tests could mean the library's `name`: they give it such arguments, and ask what it makes for such attributes."""
    made, asked, given = [], set(), given_names(tree)
    for node in ast.walk(tree):
        if is_call_of(node, name) and not takes(value, node) or callable(value) and is_literal_comparison(node, name):
            return False
        if isinstance(node, ast.Assign) and is_call_of(node.value, name):
            made += [target.id for target in node.targets if isinstance(target, ast.Name)]
    made = {each for each in made if made.count(each) == given.count(each)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (is_call_of(node.value, name) or isinstance(node.value, ast.Name) and node.value.id in made | {name}):
            asked.add(node.attr)
    value = getattr(value, "__origin__", value)  # of typing
    return not isinstance(value, type) or all(hasattr(value, attribute) for attribute in asked)


def flow(tree, sources):
    """Names, attributes and functions that may hold or return what comes from `sources`."""
    found, never = set(sources), {"self", "cls", *imported_names(tree)} - set(sources)

    def comes(node):
        return not found.isdisjoint(mentions(node))

    def parameters(function):
        return {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTION_NODES)]
    named = {node.name: node for node in functions if not isinstance(node, ast.Lambda)}
    while True:
        before = len(found)
        for node in ast.walk(tree):
            value = getattr(node, "value", None) or getattr(node, "iter", None) or getattr(node, "context_expr", None)
            targets = [*getattr(node, "targets", []), getattr(node, "target", None), getattr(node, "optional_vars", None)]
            if isinstance(value, ast.AST) and any(targets) and comes(value):
                found |= set().union(*(used_names(target) | {part.attr for part in ast.walk(target) if isinstance(part, ast.Attribute)} for target in targets if target))
            if isinstance(node, ast.Call) and any(comes(arg) for arg in [*node.args, *(word.value for word in node.keywords)]):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
                found |= parameters(named[called]) if called in named else set()
                found |= used_names(node.func) if isinstance(node.func, ast.Attribute) else set()  # x.append(...)
                for arg in node.args:
                    found |= parameters(arg) if isinstance(arg, ast.Lambda) else parameters(named[arg.id]) if isinstance(arg, ast.Name) and arg.id in named else set()
        for node in functions:
            if any(comes(default) for default in [*node.args.defaults, *node.args.kw_defaults] if default):
                found |= parameters(node)
        for node in named.values():
            if any(comes(statement) for statement in node.body):
                found.add(node.name)
            if any(comes(decorator) for decorator in node.decorator_list):
                found |= parameters(node)
        found -= never
        if len(found) == before:
            return found


def meet(tree, name, functions):
    """Whether what the tests make with `name` and what one of `functions` returned come together, as in Counter(f(3)) or f(3) == Counter("a")."""
    of_name, of_functions = flow(tree, {name}), flow(tree, functions)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            parts = [part for part in ast.iter_child_nodes(node) if not isinstance(part, (ast.stmt, ast.ExceptHandler))]
            conditions = conjuncts(node.test) if isinstance(node, ast.Assert) else [ast.Module(parts, [])]
            if any(not of_name.isdisjoint(mentions(part)) and not of_functions.isdisjoint(mentions(part)) for part in conditions):
                return True
    return False


def conjuncts(condition):
    """The parts of a and b or not c."""
    parts = condition.values if isinstance(condition, ast.BoolOp) else [condition.operand] if isinstance(condition, ast.UnaryOp) else []
    return [each for part in parts for each in conjuncts(part)] or [condition]


def is_literal_comparison(node, name):
    """count == 2: no function and no class is."""
    operands = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
    literals = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set)
    return any(isinstance(operand, ast.Name) and operand.id == name for operand in operands) and any(isinstance(operand, literals) for operand in operands)


def is_call_of(node, name):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def takes(value, call):
    if any(isinstance(arg, ast.Starred) for arg in call.args) or any(word.arg is None for word in call.keywords):
        return True
    try:
        inspect.signature(value).bind(*call.args, **{word.arg: word.value for word in call.keywords})
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def names_for(tree, code, prelude, exported, imports, further, subjects=frozenset()):
    """The namespace of the tests. `subjects`: names that the row says are the program's."""
    own = {**vars(builtins), **prelude, **further}
    used, mine, bound = used_names(tree), imported_names(tree), bound_names(code)
    unknown = used - {*own, *mine, *MODULE_ALIASES, *given_names(tree), *bound}
    others = {name for name in exported if name not in own} | unknown | subjects
    is_imported = "solution" in texts(tree) or any(module == "solution" and name != "*" for name, module in mine.items())
    only_own = not subjects and not is_imported and others.isdisjoint(mentions(tree))

    def is_meant(name):
        if name not in used or name in further or name in bound or name in mine or is_imported and mine.get("*") != "solution":
            return False
        is_tool = bool(subjects) or hasattr(builtins, name) or not isinstance(own[name], re.RegexFlag) and meet(tree, name, others)
        return only_own or not is_tool or not fits(own[name], name, tree)
    names = {}
    for name, value in exported.items():
        is_others = mine.get(name, "solution") != "solution" or name in MODULE_ALIASES and name not in mine
        if not is_others and (name not in own or is_meant(name)):
            names[name] = value
    wanted = used - {*vars(builtins), *further, *names, *mine}
    return {**prelude, **further, **names, **imported_by_program(imports, wanted)}


def imported_by_program(imports, wanted):
    """What the program imports under the name that it has, and the tests use: they import it themselves."""
    found = {}
    for item in imports:
        name, module, attribute = item if isinstance(item, tuple) and len(item) == 3 else (None, None, None)
        if name not in wanted or not isinstance(module, str) or module.partition(".")[0] in UNSHARED:
            continue
        if attribute is None and not is_standard(module) and name != module.partition(".")[0] and MODULE_ALIASES.get(name) != module:
            continue
        try:
            imported = importlib.import_module(module)
            found[name] = getattr(imported, name) if attribute else imported
        except (ImportError, AttributeError, ValueError):
            pass
    return found


ASSERTING = ("assert", "fail", "raises", "warns", "deprecated_call", "check", "expect", "should", "verify")


def asserts_anything(tree, collected):
    """Whether what runs of the tests holds an assertion: statements of the module, tests of those names and what these call."""
    defined = {node.name: node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    done, waiting = set(), [node for node in tree.body if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
    waiting += [defined[name] for name in collected if name in defined]
    while waiting:
        for node in ast.walk(waiting.pop()):
            if isinstance(node, (ast.Assert, ast.Raise)):
                return True
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            if name in defined and name not in done:
                done.add(name)
                waiting.append(defined[name])
            elif name and name not in defined and any(word in name.lower() for word in ASSERTING[:5]):
                return True
    return False


def patched_places(tree):
    """(module, name) of the standard library that the tests may put something else in: patch("time.time"), sys.stdin = ..."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
            found.add(tuple(node.value.rpartition(".")[::2]))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("setattr", "delattr", "object"):
            for index, arg in enumerate(node.args[:-1]):
                following = node.args[index + 1]
                if isinstance(following, ast.Constant) and isinstance(following.value, str):
                    found.add((ast.unparse(arg), following.value))
        targets = node.targets if isinstance(node, ast.Assign) else []
        found |= {(ast.unparse(target.value), target.attr) for target in targets if isinstance(target, ast.Attribute)}
    return {(module, name) for module, name in found if is_patchable(module, name)}


def is_patchable(module, name):
    if not name.isidentifier() or not is_standard(module) or module == "sys" and name != "stdin":
        return False
    try:
        return hasattr(importlib.import_module(module), name)
    except (ImportError, ValueError):
        return False
