"""Calls a test function that the program itself defines, against other solutions than its own.

Stages: 0 and 1 use stubs that return a constant for any input; o uses its own solution; c uses the canonical one. The canonical
solution is not here: each call to it goes to the trusted side as a question, which another process answers (`answer` below).
Out: y function found | n none; b stage begins; k question; p stage passed (1 or 0). A process that ends with status 0 inside a
stage has passed it: a test function can pass that way too. This runs in a process of its own, after the tests.
"""
import _ast as ast
import _thread
import builtins
import marshal
import os
import sys

import harness
import plain_values
import shapes
from harness import kind_of, record, status_of, write_all

# Arguments that cannot be sent are no question: the trusted side refuses it, ends this process, and the stage is unknown.
NO_QUESTION = b""
STUB_VALUES = {"0": 0, "1": 987654321}
DEFINITIONS = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom,
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.Try, ast.With,
)


def run_definitions(source, namespace):
    """Runs imports, assignments and definitions one by one. A failing one is skipped; bare calls are never made."""
    for statement in compile(source, "<program>", "exec", ast.PyCF_ONLY_AST).body:
        if isinstance(statement, DEFINITIONS):
            try:
                exec(compile(ast.Module([statement], []), "<program>", "exec", dont_inherit=True), namespace)
            except BaseException:
                pass


def with_method(base, name, function):
    return type("Solution", (base,), {name: function})


def put_back(mine, theirs):
    """Gives the caller's own lists, dicts and sets the content that they have after the call."""
    if type(mine) is not type(theirs) or mine == theirs:
        return
    if type(mine) is list:
        mine[:] = theirs
    elif type(mine) in (dict, set):
        mine.clear()
        mine.update(theirs)


def asking_method(namespace):
    """A method that asks the trusted side what the canonical solution returns; one question at a time, whatever thread asks."""
    asking = _thread.allocate_lock()

    def method(self, *arguments, **keywords):
        try:
            question = plain_values.pack_arguments(arguments, keywords)
        except BaseException:
            question = NO_QUESTION
        with asking:
            write_all(record(b"k", question))
            kind, *rest = harness.read_frame()
        if kind != "value":
            error = getattr(builtins, rest[0], None)
            raise (error if isinstance(error, type) and issubclass(error, Exception) else RuntimeError)(rest[0])
        result, made, positional, named = rest
        for mine, theirs in list(zip(arguments, positional)) + [(keywords[name], named[name]) for name in named]:
            put_back(mine, theirs)
        shapes.build(namespace, result, {}, made)
        return result[0]
    return method


class Stages:
    def __init__(self, namespace, method, name):
        self.namespace, self.method, self.name = namespace, method, name
        self.own = namespace.get("Solution")
        own = getattr(self.own, name, None)
        self.in_class = not callable(namespace.get(name)) and callable(own)
        self.found = self.in_class or callable(namespace.get(name))

    def solution(self, stage):
        if stage == "o":
            return self.own
        if stage == "c":
            base = with_method(object, self.method, asking_method(self.namespace))
            return with_method(base, self.name, vars(self.own)[self.name]) if self.in_class else base
        value = STUB_VALUES[stage]
        base = self.own if self.in_class else object
        return with_method(base, self.method, lambda self, *arguments, **keywords: value)

    def passes(self, stage):
        try:
            solution = self.solution(stage)
            self.namespace["Solution"] = solution
            test = getattr(solution(), self.name) if self.in_class else self.namespace[self.name]
            test()
        except SystemExit as error:
            return status_of(error) == 0
        except BaseException:
            return False
        return True


def run_stages(setup, nonce, source, method, name, stages, end=os._exit):
    harness.use_nonce(nonce)
    namespace = harness.new_module(setup)
    write_all(record(b"B"))
    try:
        run_definitions(source, namespace)
        work = Stages(namespace, method, name)
    except BaseException:
        return end(0)
    write_all(record(b"y" if work.found else b"n"))
    sys.setrecursionlimit(1008)
    for stage in stages if work.found else "":
        tag = stage.encode()
        write_all(record(b"b", tag))
        write_all(record(b"p", tag + (b"1" if work.passes(stage) else b"0")))
    harness.flush_everything()
    return end(0)


def answer(setup, nonce, source, method, call):
    """Runs the canonical solution on one question. Out: a (the answer, as asking_method reads it), r (kind of exception that the
    solution raised), or neither: the answer cannot be sent.
    The question comes as bytes: a program chose what is in it, so this process has begun before it is read."""
    harness.use_nonce(nonce)
    namespace = harness.new_module(setup)
    write_all(record(b"B"))
    sys.setrecursionlimit(1008)
    try:
        arguments, keywords, builders, _ = marshal.loads(call)
        exec(compile(source, "<canonical>", "exec", dont_inherit=True), namespace)
        shapes.build(namespace, arguments, keywords, builders)
        solution = getattr(namespace["Solution"](), method)
        try:
            value = solution(*arguments, **keywords)
        except BaseException as error:
            told = record(b"r", kind_of(error))
        else:
            made = []
            result = [plain_values.pack(value, [0], made)]
            # Nodes are not put back: a caller sees a changed list, dict or set, and no changed node.
            after = ([], {}) if builders else (arguments, keywords)
            told = record(b"a", marshal.dumps(("value", result, made) + after, 2))
        write_all(told)
    except BaseException:
        pass
    os._exit(0)
