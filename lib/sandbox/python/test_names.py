"""What the names in tests mean, and whether tests test anything. All here is read off the tests' text, which no program can change.

A builtin, an import of the tests, and what problems take for granted (the prelude) are what they are, whatever the program calls so.
A program's own name of that kind counts only where the tests import it from the solution, where they use none of the program's
other names, or where they use it as the library's could not be used; and so does a name of the prelude that they do not put round
what the program returned.
"""
import ast
import builtins
import importlib
import inspect

MODULE_ALIASES = {"np": "numpy", "pd": "pandas", "plt": "matplotlib.pyplot", "nx": "networkx", "sp": "scipy", "dt": "datetime"}


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


def fits(value, name, tree):
    """Whether the tests could mean the library's `name`: they give it so many arguments, and ask what it makes for such attributes."""
    made, asked = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name and not takes(value, node):
            return False
        if isinstance(node, ast.Assign) and is_call_of(node.value, name):
            made |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (is_call_of(node.value, name) or isinstance(node.value, ast.Name) and node.value.id in made | {name}):
            asked.add(node.attr)
    value = getattr(value, "__origin__", value)  # of typing
    return not isinstance(value, type) or all(hasattr(value, attribute) for attribute in asked)


def wraps_results(name, tree, functions):
    """Whether the tests give `name` what one of `functions` returned, as in Counter(f(3)): then it is a tool of the tests."""
    def holds_result(node):
        return any(isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in functions or isinstance(part, ast.Name) and part.id in results
                   for part in ast.walk(node))
    results = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and holds_result(node.value):
            results |= used_names(ast.Module([ast.Expr(target) for target in node.targets], []))
    return any(is_call_of(node, name) and any(holds_result(arg) for arg in node.args) for node in ast.walk(tree))


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


def names_for(tree, prelude, exported, imports, further, is_subject=()):
    """The namespace of the tests. `is_subject`: names that the row says are the program's."""
    own = {**vars(builtins), **prelude, **further}
    used, mine = used_names(tree), imported_names(tree)
    from_solution = {name for name, module in mine.items() if module == "solution"} | set(is_subject)
    others = {name for name in exported if name not in own or name in is_subject} | ({"candidate"} if is_subject else set())
    only_own = not any(name in used | from_solution for name in others)
    names = {}
    for name, value in exported.items():
        if name not in from_solution and (name in mine or name in MODULE_ALIASES):
            continue
        if name not in own or name in from_solution:
            names[name] = value
        elif name in used and name not in further:
            is_tool = hasattr(builtins, name) or wraps_results(name, tree, others)
            if only_own or not is_tool or not fits(own[name], name, tree):
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
