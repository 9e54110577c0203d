"""Runs one program inside the sandbox. It knows the code and the inputs; no expected value ever arrives here.

In (fd 4): frames, length then marshal: the program with its first inputs, then more inputs, each batch only after the
outputs of the one before. Out (fd 5): records of tag, nonce, length, payload.
  E ended in the setup code (written by the server)  X setup code failed (kind)  B begun
  c compiled  e not compiled (kind)  M module raised (kind)  S exited by SystemExit
  o output (marshal 2: exact builtin types only)  u opaque output (its plain parts)  l output too large  r call raised (kind)
  v pass flag found (name)  s wants more inputs  d all calls done  q opaque parts equal decoys by their own == (1 or 0)
A program that takes over this process can forge all records, and then only flags itself. Only `o` can make it correct, and only by being
the right value for an input it has been given. Programs are stopped at an `s`, so what they did never depends on timing.
"""
import gc
import io
import marshal
import mmap
import os
import sys
import types

import plain_values
import shapes

IN, OUT = 4, 5
LARGEST_OUTPUT = 8 << 20
LARGEST_SKELETONS = 32 << 10
# Memory that the server shares: a length, and the records that are not written yet. Should the process end before it writes them,
# the server does, so that no way to end a process hides a wrong output. A write for each output would take half as long again.
HELD = mmap.mmap(-1, 1 << 14)
NOTHING_HELD = bytes(len(HELD))


def read_exactly(size):
    data = bytearray()
    while len(data) < size:
        piece = os.read(IN, size - len(data))
        if not piece:
            os._exit(98)
        data += piece
    return bytes(data)


def read_frame():
    return marshal.loads(read_exactly(int.from_bytes(read_exactly(4), "little")))


NONCE = bytes(4)


def record(tag, payload=b""):
    return tag + NONCE + len(payload).to_bytes(4, "little") + payload


def hold_alone(data):
    HELD[:4 + len(data)] = len(data).to_bytes(4, "little") + data


def take_held():
    """Returns what a dead program has not written, and clears the memory for the next one. Runs in the server."""
    size = min(int.from_bytes(HELD[:4], "little"), len(HELD) - 4)
    data = HELD[4:4 + size]
    HELD[:] = NOTHING_HELD
    return data


def use_nonce(nonce):
    global NONCE
    NONCE = nonce.to_bytes(4, "little")


def kind_of(error):
    return type(error).__name__.encode("utf-8", "replace")[:80]


def write_all(data):
    while data:
        data = data[os.write(OUT, data):]


def flush_everything():
    """Writes out what a normal end of the interpreter would have written."""
    for stream in (sys.__stdout__, sys.stdout):
        try:
            stream.flush()
        except BaseException:
            pass
    if os.listdir("."):
        for thing in gc.get_objects():
            if type(thing) in (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom) and thing is not sys.__stdout__:
                try:
                    thing.flush()
                except BaseException:
                    pass


def finish(status):
    flush_everything()
    os._exit(status)


def status_of(error):
    code = error.code
    return 0 if code is None else code & 0xFF if isinstance(code, int) else 1


def new_module(setup):
    """Runs the setup code. What it printed or wrote would count for every program, so then it has failed."""
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    if setup is None:
        return module.__dict__
    hold_alone(record(b"E"))
    stdout, caught, files = sys.stdout, io.StringIO(), os.listdir(".")
    terminal = os.dup(1)
    os.dup2(0, 1)
    sys.stdout = sys.__stdout__ = caught
    try:
        exec(setup, module.__dict__)
    except BaseException as error:
        failure = kind_of(error)
    else:
        failure = b"it prints" if caught.getvalue() else b"it writes files" if os.listdir(".") != files else b""
    os.dup2(terminal, 1)
    os.close(terminal)
    sys.stdout = sys.__stdout__ = stdout
    hold_alone(b"")
    if failure:
        write_all(record(b"X", failure))
        os._exit(96)
    return module.__dict__


def compile_program(source):
    """Compiles the program of a process that has begun, and reports both. Returns the code object, or None where there is none."""
    begun = record(b"B")
    hold_alone(begun)
    try:
        code, told = compile(source, "<program>", "exec", dont_inherit=True), record(b"c")
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError) as error:
        code, told = None, record(b"e", kind_of(error))
    write_all(begun + told)
    hold_alone(b"")
    return code


def pass_flag(holders, names):
    for name in names:
        for holder in holders:
            try:
                value = getattr(holder, name, False)
            except BaseException:
                continue
            # A method of that name is a helper, not a flag.
            if type(value) in (bool, int, float, str) and value:
                return record(b"v", name.encode())
    return b""


class Calls:
    """All calls of one program, batch by batch, until one raises."""

    def __init__(self, namespace, method, flags):
        self.namespace, self.method, self.flags = namespace, method, flags
        self.pending, self.opaque, self.count, self.held = [], [], 0, 0
        self.skeleton_room = LARGEST_SKELETONS

    def output(self, value, shape):
        try:
            plain = shapes.flatten(shape, value)
            data = marshal.dumps(plain, 2)
        except BaseException:
            return record(b"u", self.opaque_parts(value))
        return record(b"o", data) if len(data) <= LARGEST_OUTPUT else record(b"l")

    def opaque_parts(self, value):
        """Keeps the parts of a value that have no plain form, and returns the rest; nothing when that is too large."""
        leaves = []
        try:
            plain = plain_values.skeleton(value, [], leaves)
            data = marshal.dumps((plain, [path for path, _ in leaves]), 2)
        except BaseException:
            data = b""
        self.skeleton_room -= len(data)
        self.opaque.append((self.count, [leaf for _, leaf in leaves]))
        return data if self.skeleton_room >= 0 else b""

    def one(self, call):
        arguments, keywords, builders, shape = call
        solution = None
        try:
            shapes.build(self.namespace, arguments, keywords, builders)
            solution = self.namespace["Solution"]()
            value = getattr(solution, self.method)(*arguments, **keywords)
        except SystemExit:
            raise
        except BaseException as error:
            self.pending.append(record(b"r", kind_of(error)))
            raised = True
        else:
            self.pending.append(self.output(value, shape))
            raised = False
        if self.count == 0:
            self.pending.append(pass_flag((solution, self.namespace.get("Solution")), self.flags))
        self.count += 1
        return raised

    def hold(self):
        """Moves the pending records to the memory that outlives this process, or writes them where they do not fit."""
        data = b"".join(self.pending)
        if 4 + self.held + len(data) > len(HELD):
            self.flush()
            return
        self.pending.clear()
        HELD[4 + self.held:4 + self.held + len(data)] = data
        self.held += len(data)
        HELD[:4] = self.held.to_bytes(4, "little")

    def flush(self):
        write_all(HELD[4:4 + self.held] + b"".join(self.pending))
        HELD[:4] = bytes(4)
        self.held = 0
        self.pending.clear()

    def run(self, batch):
        """Returns whether the trusted side wanted all of it. It kills a program that it wants no more of, but one in a kept process."""
        calls, last = batch
        while True:
            for call in calls:
                raised = self.one(call)
                self.hold()
                if raised:
                    return True
            if last:
                return True
            flush_everything()
            self.pending.append(record(b"s"))
            self.flush()
            calls, last = read_frame()
            if calls is None:
                return False


def compare_opaque(opaque, decoys):
    try:
        return all(bool(leaf == decoy) for index, leaves in opaque for leaf, decoy in zip(leaves, decoys[index]))
    except BaseException:
        return False


def run_program(setup, nonce, source, method, flags, batch, end=os._exit):
    use_nonce(nonce)
    namespace = new_module(setup)
    code = compile_program(source)
    if code is None:
        return end(0)
    runner = Calls(namespace, method, flags)
    # The limit is what a fresh interpreter would allow the program, plus the frames of this file.
    sys.setrecursionlimit(1008)
    try:
        try:
            exec(code, namespace)
            if not runner.run(batch):
                return end(0)
        except SystemExit as error:
            runner.pending.append(record(b"S"))
            runner.flush()
            finish(status_of(error))
    except BaseException as error:
        runner.pending.append(record(b"M", kind_of(error)))
    flush_everything()
    runner.pending.append(record(b"d"))
    runner.flush()
    if runner.opaque:
        # The trusted side has fixed the result. It sends values that are wrong on purpose: what equals them equals anything.
        equal = compare_opaque(runner.opaque, read_frame())
        write_all(record(b"q", b"1" if equal else b"0"))
        flush_everything()
    return end(0)


REHEARSAL = """
class Solution:
    def answer(self, values, limit=3):
        found = [value * 2 for value in values if value < limit]
        return sorted(found)[0] if found else None
def run_tests():
    assert Solution().answer([1, 2]) == 2
"""


def rehearse():
    """Runs a program in the server, so that forks find filled what the interpreter fills when code first runs."""
    namespace = {"__name__": "rehearsal"}
    exec(compile(REHEARSAL, "<program>", "exec", dont_inherit=True), namespace)
    calls = [([[value, 5]], {}, [], "plain") for value in range(20)]
    for _ in range(2):
        Calls(namespace, "answer", ("is_ok",)).run((calls, True))
        take_held()
