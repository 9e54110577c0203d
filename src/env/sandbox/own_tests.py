"""Calls a test function that the program itself defines, against other solutions than its own.

Stages: 0 and 1 use stubs that return a constant for any input; o uses its own solution; c uses the canonical one.
Out: y function found | n none; b stage begins; p stage passed (1 or 0). A process that ends with status 0 inside a
stage has passed it: a test function can pass that way too. This runs in a process of its own, after the tests.
"""
import ast
import os
import sys

import harness
from harness import record, status_of, write_all

STUB_VALUES = {"0": 0, "1": 987654321}
DEFINITIONS = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom,
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.Try, ast.With,
)


def run_definitions(source, namespace):
    """Runs imports, assignments and definitions one by one. A failing one is skipped; bare calls are never made."""
    for statement in ast.parse(source).body:
        if isinstance(statement, DEFINITIONS):
            try:
                exec(compile(ast.Module([statement], []), "<program>", "exec", dont_inherit=True), namespace)
            except BaseException:
                pass


def with_method(base, name, function):
    return type("Solution", (base,), {name: function})


class Stages:
    def __init__(self, setup, namespace, method, name, canonical):
        self.setup, self.namespace, self.method, self.name, self.canonical = setup, namespace, method, name, canonical
        self.own = namespace.get("Solution")
        own = getattr(self.own, name, None)
        self.in_class = not callable(namespace.get(name)) and callable(own)
        self.found = self.in_class or callable(namespace.get(name))

    def solution(self, stage):
        if stage == "o":
            return self.own
        if stage == "c":
            namespace = dict(harness.new_module(self.setup))
            exec(compile(self.canonical, "<canonical>", "exec", dont_inherit=True), namespace)
            base = namespace["Solution"]
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


def run_stages(setup, nonce, source, method, name, canonical, stages):
    harness.use_nonce(nonce)
    namespace = harness.new_module(setup)
    write_all(record(b"B"))
    try:
        run_definitions(source, namespace)
        work = Stages(setup, namespace, method, name, canonical)
    except BaseException:
        os._exit(0)
    write_all(record(b"y" if work.found else b"n"))
    sys.setrecursionlimit(1008)
    for stage in stages if work.found else "":
        tag = stage.encode()
        write_all(record(b"b", tag))
        write_all(record(b"p", tag + (b"1" if work.passes(stage) else b"0")))
    harness.finish(0)
