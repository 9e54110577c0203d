"""What Python itself makes of programs, for the interpreter to be compared with. In: a JSON list of cases (standard input). Out: a JSON line each.

The steps are those of harness.py and own_tests.py, in one process: the programs come from a generator of harmless ones. Each runs in an empty folder.
"""
import contextlib
import io
import json
import os
import sys
import tempfile
import types
import warnings

PAUSES = (1, 8, 64)
DEFINITIONS = ("FunctionDef", "ClassDef", "Assign", "AugAssign")


def kind_of(error):
    return type(error).__name__


def status_of(error):
    return 0 if error.code is None else error.code & 0xFF if isinstance(error.code, int) else 1


def empty_folder():
    for name in os.listdir("."):
        os.remove(name)


def flag_of(solution, names):
    for name in names:
        for holder in (solution,):
            value = getattr(holder, name, False)
            if type(value) in (bool, int, float, str) and value:
                return name
    return None


class Run:
    def __init__(self):
        self.told = {"wrong": "", "raised": "", "status": None, "finished": False, "hasObjects": False, "equalByOwnType": False}
        self.objects = []

    def fail(self, why):
        self.told["wrong"] = self.told["wrong"] or why

    def call(self, namespace, case):
        for index, (given, expected) in enumerate(zip(case["inputs"], case["expected"])):
            raised = False
            try:
                value = namespace["Solution"]().solve(given)
            except SystemExit:
                raise
            except BaseException as error:
                self.told["raised"] = kind_of(error)
                self.fail("raised " + kind_of(error))
                raised = True
            else:
                if type(value) not in (type(None), bool, int, float, str):
                    self.objects.append(value)
                    self.told["hasObjects"] = True
                elif not value == expected:
                    self.fail("test %d: wrong value" % (index + 1))
            if index == 0:
                self.told["passFlag"] = flag_of(namespace.get("Solution"), case["flags"])
            if raised:
                return True
            if self.told["wrong"] and index + 1 in PAUSES and index + 1 < len(case["inputs"]):
                return False
        return True

    def execute(self, code, case):
        namespace = types.ModuleType("__main__").__dict__
        try:
            exec(code, namespace)
            self.told["finished"] = self.call(namespace, case)
        except SystemExit as error:
            self.told["status"] = status_of(error)
            return
        except BaseException as error:
            self.told["raised"] = kind_of(error)
            self.fail("raised " + kind_of(error))
            self.told["finished"] = True
        if self.told["finished"] and not self.told["wrong"] and self.objects:
            try:
                self.told["equalByOwnType"] = all(bool(value == 12345678) for value in self.objects)
            except BaseException:
                pass


def own_test(source, name):
    """None: no such function; else whether it passes in every stage, or "mixed"."""
    import ast
    namespace = types.ModuleType("__main__").__dict__
    for statement in ast.parse(source).body:
        if kind_of(statement) in DEFINITIONS:
            try:
                exec(compile(ast.Module([statement], []), "<program>", "exec"), namespace)
            except BaseException:
                pass
    if not callable(namespace.get(name)):
        return "in class" if callable(getattr(namespace.get("Solution"), name, None)) else None
    passes = set()
    for value in (0, 987654321):
        namespace["Solution"] = type("Solution", (), {"solve": lambda self, *given: value})
        try:
            namespace[name]()
            passes.add(True)
        except SystemExit as error:
            passes.add(status_of(error) == 0)
        except BaseException:
            passes.add(False)
    return passes.pop() if len(passes) == 1 else "mixed"


def examine(case):
    try:
        code = compile(case["source"], "<program>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError):
        return {"compiled": False}
    run = Run()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        run.execute(code, case)
    files = {}
    for name in os.listdir("."):
        with open(name) as file:
            files[name] = file.read()
    empty_folder()
    told = {"compiled": True, **run.told, "stdout": printed.getvalue(), "files": files}
    with contextlib.redirect_stdout(io.StringIO()):
        told["ownTest"] = own_test(case["source"], case["test"])
    empty_folder()
    return told


def main():
    cases = json.load(sys.stdin)
    # `exit` closes the input that it finds.
    answers = sys.stdout
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        warnings.simplefilter("ignore")
        for case in cases:
            sys.stdin = io.StringIO()
            print(json.dumps(examine(case)), file=answers)
        os.chdir("/")


main()
