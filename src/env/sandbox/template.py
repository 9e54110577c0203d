"""The process that programs are made of. It waits for an order, forks the process that comes after it, and only then becomes a program.

So every program begins with the same memory, whatever ran before it: how programs end and what they leave is known to the server
alone, and nothing is ever forked from the server again. The order of a program tells nothing of the one before.
In (orders), lines:  S id base64(setup code) | J setup-id cpu-seconds | L
Out (begun), for each order: numbers of this process and of its heir, and the CPU time that it has used so far.
It and its heirs run lean: what a fork costs is the memory that it has to copy, and every page that either side touches after it.
"""
import _signal
import binascii
import gc
import os
import resource
import struct
import sys
import time

import harness
import layers
import messages
import own_tests
import seccomp

# The modules that programs import most. Each makes every fork and every end of a process longer: they are loaded, once, when
# setup code names them. Threading is not among them: with it a fork takes twice as long.
LOADED_FOR_SETUP = frozenset((
    "array", "bisect", "collections", "contextlib", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools",
    "heapq", "inspect", "itertools", "math", "operator", "re", "statistics", "string", "textwrap", "traceback", "typing"))
KINDS = {"program": harness.run_program, "own_tests": own_tests.run_stages, "answer": own_tests.answer}
REPORT, KEPT_IN = 3, 6
# CPU time of a process for straight-line programs: the smallest budget that a problem can have. One that needs more runs again, alone.
KEPT_CPU_SECONDS = 1
BEGUN = struct.Struct("<IIQ")


def compile_setup(source):
    """Returns the code object, or None where there is nothing to run."""
    if not source.strip():
        return None
    try:
        return compile(source, "<setup>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError) as error:
        return compile("raise SyntaxError(%r)" % str(error), "<setup>", "exec")


class Template:
    def __init__(self, work, null, filter_, follows_parent):
        self.work, self.null, self.filter, self.follows_parent = work, null, filter_, follows_parent
        self.setups = {}

    def leave_server(self):
        """Gives up the descriptors of the server: the lines that it reads, and those that it writes."""
        os.dup2(self.null, 0)
        os.close(self.null)
        os.close(REPORT)

    def learn(self, setup_id, code):
        """Setup code is compiled here and run in the program's process: the template never runs code from a data file."""
        setup = compile_setup(binascii.a2b_base64(code).decode())
        for name in LOADED_FOR_SETUP.intersection(setup.co_names if setup else ()):
            __import__(name)
        self.setups[setup_id] = setup
        gc.freeze()

    def lock_down(self, cpu_seconds):
        """Runs before the first byte of a program is read."""
        if self.follows_parent:
            layers.die_with_parent()
        os.chdir(self.work)
        os.dup2(0, 2)
        # Python ignores this signal. Here it ends a program that writes where nobody may write.
        _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
        if self.filter is not None:
            seccomp.install(layers.libc, self.filter)
        # The template's objects are frozen; a program's garbage is collected less often than by default.
        gc.set_threshold(10_000, 20, 20)
        gc.enable()

    def become_program(self, setup_id, cpu_seconds, done):
        os.close(KEPT_IN)
        os.close(done)
        self.lock_down(int(cpu_seconds))
        kind, arguments = harness.read_frame()
        KINDS[kind](self.setups[setup_id], *arguments)

    def become_kept(self, done):
        """Runs straight-line programs, which the trusted side has read (straight-line.ts): they make no call, read no attribute and
        have no name but their own, so that none can leave anything to the next. No other program ever runs there."""
        os.dup2(KEPT_IN, harness.IN)
        os.close(KEPT_IN)
        self.lock_down(KEPT_CPU_SECONDS)
        while True:
            kind, arguments = harness.read_frame()
            KINDS[kind](None, *arguments, end=lambda status: os.write(done, b"."))

    def obey(self, order, done):
        """Becomes what the order says, and ends as that."""
        try:
            if order[0] == "J":
                self.become_program(*order[1:], done)
            elif order[0] == "L":
                self.become_kept(done)
        finally:
            os._exit(0 if order[0] == "S" else 97)


class Lineage:
    """Starts a process for each order, when the one before has ended: then, on Linux, the server adopts its heir."""

    def __init__(self, template, private):
        self.template = template
        self.done, self.tell_done = os.pipe()
        os.set_blocking(self.done, False)
        self.is_chain = sys.platform.startswith("linux")
        if self.is_chain:
            layers.adopt_orphans()
            orders, self.orders = os.pipe()
            self.begun, begun = os.pipe()
            self.heir = os.fork()
            if self.heir == 0:
                try:
                    for fd in (self.orders, self.begun, self.done, *private):
                        os.close(fd)
                    self.serve(messages.Lines(orders), begun)
                except EOFError:
                    os._exit(0)
                except BaseException:
                    sys.excepthook(*sys.exc_info())
                    os._exit(97)
            for fd in (orders, begun, self.tell_done):
                os.close(fd)

    def serve(self, orders, begun):
        self.template.leave_server()
        while True:
            order = orders.line()
            if order[0] == "S":
                self.template.learn(*order[1:])
            heir = os.fork()
            if heir:
                os.write(begun, BEGUN.pack(os.getpid(), heir, time.process_time_ns()))
                os.close(begun)
                os.close(orders.fd)
                self.template.obey(order, self.tell_done)

    def learn(self, *setup):
        if self.is_chain:
            os.waitpid(self.start("S", *setup)[0], 0)
        else:
            self.template.learn(*setup)

    def start_child(self, order):
        """Where nobody adopts orphans, programs are forked from the server itself."""
        pid = os.fork()
        if pid == 0:
            self.template.leave_server()
            self.template.obey(order, self.tell_done)
        return pid, 0.0

    def start(self, *order):
        """Returns the number of the process that obeys, and the CPU seconds that it had used before."""
        if not self.is_chain:
            return self.start_child(order)
        data = (" ".join(order) + "\n").encode()
        while data:
            data = data[os.write(self.orders, data):]
        answer = os.read(self.begun, BEGUN.size)
        if len(answer) < BEGUN.size:
            raise EOFError
        pid, self.heir, used = BEGUN.unpack(answer)
        return pid, used / 1e9

    def close(self):
        """Ends the template, and whatever is left below the server."""
        if self.is_chain:
            os.close(self.orders)
        try:
            while True:
                os.wait()
        except ChildProcessError:
            pass
