"""The fork server: one long-lived interpreter per worker, one forked process per program, and one for many straight-line programs.

It holds no program, no input, no output and no expected value: those go between the trusted side and the program on
descriptors the server never reads (4 in, 5 out, 1 the program's stdout), so a program finds nothing in inherited memory.
Straight-line programs come in on 6, which only their process holds: it cannot read a program of another kind.
It and its children run lean: what a fork costs is the memory that it has to copy, and every page that either side touches
after it. So modules that pull in much (json, re, enum, signal) are not loaded, and little is done for each program.
In (fd 0), lines:  S id base64(setup code) | J setup-id cpu-seconds wall-ms | L cpu-seconds wall-ms | K | D
Out (fd 3), JSON lines: {"ready"…} once, {"exit"…} when a program is dead and reaped, {"unread"…} in answer to D.
After a program's death what it left unread on fd 4 is thrown away, and a token is written on 1 and 5, so that the trusted
side knows it has read everything: the program was dead before the token was drawn. D throws away and counts once more, so
that the trusted side can be sure that no secret waits there for the next program.
"""
import _signal
import binascii
import gc
import io
import marshal
import os
import resource
import select
import site
import stat
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [HERE] + [path for path in sys.path if path != HERE]
import harness
import layers
import messages
import own_tests
import seccomp

# The random module would seed itself in every fork. That takes a third of a fork's time, and programs must not depend on chance.
register_at_fork, os.register_at_fork = os.register_at_fork, lambda **handlers: None
import random
os.register_at_fork = register_at_fork

# The modules that programs import most. Each makes every fork and every end of a process longer: they are loaded, once, when
# setup code names them. Threading is not among them: with it a fork takes twice as long.
LOADED_FOR_SETUP = frozenset((
    "array", "bisect", "collections", "contextlib", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools",
    "heapq", "inspect", "itertools", "math", "operator", "re", "statistics", "string", "textwrap", "traceback", "typing"))

CONTROL, REPORT, KEPT_IN = 0, 3, 6
KINDS = {"program": harness.run_program, "own_tests": own_tests.run_stages, "answer": own_tests.answer}
LARGEST_FILES, LARGEST_FILE_READ, MOST_ENTRIES, TICK_MS = 32, 64 << 10, 64, 50
MOST_KEPT_PROGRAMS = 1_000


class Control:
    """Reads lines from the trusted side. When the input ends, the server ends."""

    def __init__(self):
        self.buffer = b""

    def line(self):
        while b"\n" not in self.buffer:
            piece = os.read(CONTROL, 1 << 16)
            if not piece:
                raise EOFError
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode().split(" ")

    def has_line(self):
        return b"\n" in self.buffer


def report(message):
    data = messages.encode(message) + b"\n"
    while data:
        data = data[os.write(REPORT, data):]


def compile_setup(source):
    """Returns the code object, or None where there is nothing to run."""
    if not source.strip():
        return None
    try:
        return compile(source, "<setup>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError) as error:
        return compile("raise SyntaxError(%r)" % str(error), "<setup>", "exec")


class KeptProcess:
    """A process that runs straight-line programs, which the trusted side has read (straight-line.ts): they make no call, read no
    attribute and have no name but their own, so that none can leave anything to the next. No other program ever runs there."""

    def __init__(self, serve, cpu_seconds):
        self.cpu_seconds, self.programs = cpu_seconds, 0
        self.done, tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.done)
                serve(cpu_seconds, lambda status: os.write(tell, b"."))
            finally:
                os._exit(97)
        os.close(tell)

    def cpu_used(self):
        """By Linux's number for the clock of another process; 0 elsewhere."""
        return time.clock_gettime(~self.pid << 3 | 2) if sys.platform == "linux" else 0.0

    def is_fit(self, cpu_seconds):
        used_up = self.programs >= MOST_KEPT_PROGRAMS or self.cpu_used() > cpu_seconds / 2
        return self.cpu_seconds == cpu_seconds and not used_up


class Server:
    def __init__(self, config):
        self.config = config
        self.control = Control()
        self.setups = {}
        self.null = os.open("/dev/null", os.O_RDWR)
        # These are sockets. They are closed for writing here, so that nothing a program writes there reaches the trusted side.
        layers.libc.shutdown(harness.IN, 1)
        layers.libc.shutdown(KEPT_IN, 1)
        self.work, self.cgroup, self.layers = layers.enter(config)
        self.filter = seccomp.build() if sys.platform.startswith("linux") else None
        if "seccomp" not in config["layers"]:
            self.filter = None
        self.layers["seccomp"] = "" if self.filter else "switched off" if sys.platform == "linux" else "Linux only"
        layers.die_with_parent()
        os.chdir(self.work)
        # Programs inherit these limits. Only that of CPU time is set in each of them.
        for number, pair in self.make_limits():
            resource.setrlimit(number, pair)
        self.private_disk = self.layers["privateRoot"] == ""
        # The first process of a pid namespace takes all others with it when it ends.
        self.is_first = self.layers["namespaces"] == "" and os.getpid() == 1
        self.events, self.inputs = select.poll(), select.poll()
        self.events.register(CONTROL, select.POLLIN)
        self.inputs.register(harness.IN, select.POLLIN)
        self.inputs.register(KEPT_IN, select.POLLIN)
        self.kept = None

    def make_limits(self):
        config = self.config
        wanted = dict(AS=config["memoryBytes"], FSIZE=config["fileBytes"], NOFILE=config["openFiles"], CORE=0,
                      MEMLOCK=0, MSGQUEUE=0)
        # The kernel counts processes by user, so a limit only makes sense for a user or a namespace of our own.
        if self.layers["ownUid"] == "" or self.layers["namespaces"] == "":
            wanted["NPROC"] = config["threads"]
        limits = []
        for name, value in wanted.items():
            number = getattr(resource, "RLIMIT_" + name, None)
            if number is not None:
                hard = resource.getrlimit(number)[1]
                value = value if hard == resource.RLIM_INFINITY else min(value, hard)
                limits.append((number, (value, value)))
        stack = resource.getrlimit(resource.RLIMIT_STACK)[1]
        limits.append((resource.RLIMIT_STACK, (64 << 20 if stack < 0 else min(stack, 64 << 20), stack)))
        return limits

    def lock_down(self, cpu_seconds):
        """Runs in the forked process, before the first byte of a program is read."""
        if not self.is_first:
            layers.die_with_parent()
        os.dup2(self.null, 0)
        os.dup2(self.null, 2)
        os.close(self.null)
        os.close(REPORT)
        # Python ignores this signal. Here it ends a program that writes where nobody may write.
        _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
        if self.filter is not None:
            seccomp.install(layers.libc, self.filter)
        # The server's objects are frozen; a program's garbage is collected less often than by default.
        gc.set_threshold(10_000, 20, 20)
        gc.enable()

    def child(self, setup, cpu_seconds):
        os.close(KEPT_IN)
        self.lock_down(cpu_seconds)
        kind, arguments = harness.read_frame()
        KINDS[kind](setup, *arguments)

    def serve_kept(self, cpu_seconds, end):
        os.dup2(KEPT_IN, harness.IN)
        os.close(KEPT_IN)
        self.lock_down(cpu_seconds)
        while True:
            kind, arguments = harness.read_frame()
            KINDS[kind](None, *arguments, end=end)

    def wait(self, pid, wall_ms, done=-1):
        """Waits for the process to die. Returns '' or why the server killed it: 'wall', 'kill' or 'files'; None when it lives and
        has written to `done` that its program has ended."""
        watch = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
        if watch >= 0:
            self.events.register(watch, select.POLLIN)
        end, stopped = time.monotonic() + wall_ms / 1000, ""
        try:
            while True:
                left = (end - time.monotonic()) * 1000
                slow = watch >= 0 and (self.private_disk or stopped)
                ready = dict(self.events.poll(max(1, min(left, 60_000) if slow else min(left, TICK_MS if watch >= 0 else 2))))
                if watch in ready or (watch < 0 and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)):
                    return stopped
                # The end of the process closes the pipe too: only what it has written counts.
                if ready.get(done, 0) & select.POLLIN and not stopped:
                    return None
                why = ""
                if CONTROL in ready:
                    why = "kill" if self.control.line()[0] == "K" else ""
                elif left <= 0:
                    why = "wall"
                elif not self.private_disk and len(os.listdir(self.work)) > MOST_ENTRIES:
                    why = "files"
                if why and not stopped:
                    stopped = why
                    os.kill(pid, 9)
                    end = time.monotonic() + 60
        except EOFError:
            os.kill(pid, 9)
            raise
        finally:
            if watch >= 0:
                self.events.unregister(watch)
                os.close(watch)

    def read_files(self, names):
        found = []
        for name in sorted(names)[:LARGEST_FILES]:
            try:
                fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except OSError:
                continue
            try:
                if stat.S_ISREG(os.fstat(fd).st_mode):
                    found.append([name, binascii.b2a_base64(os.read(fd, LARGEST_FILE_READ), newline=False).decode()])
            finally:
                os.close(fd)
        return found

    def clean(self):
        """Empties the working directory level by level, so that any depth needs few descriptors."""
        here, depth = os.open(self.work, os.O_RDONLY), 0
        while True:
            deeper = None
            for name in os.listdir(here):
                try:
                    if stat.S_ISDIR(os.lstat(name, dir_fd=here).st_mode):
                        os.chmod(name, 0o700, dir_fd=here)
                        os.rmdir(name, dir_fd=here)
                    else:
                        os.unlink(name, dir_fd=here)
                except OSError:
                    deeper = name
                    break
            if deeper is None and depth == 0:
                os.close(here)
                return
            there = os.open(deeper or "..", os.O_RDONLY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here, depth = there, depth + (1 if deeper else -1)

    def end_kept(self):
        if self.kept is not None:
            os.kill(self.kept.pid, 9)
            os.wait4(self.kept.pid, 0)
            self.forget_kept()

    def forget_kept(self):
        self.events.unregister(self.kept.done)
        os.close(self.kept.done)
        self.kept = None

    def run_kept(self, cpu_seconds, wall_ms):
        """Runs a straight-line program. The trusted side runs one again, in a process of its own, whose process does not end well."""
        start = time.monotonic()
        if self.kept is not None and not self.kept.is_fit(cpu_seconds):
            self.end_kept()
        if self.kept is None:
            self.kept = KeptProcess(self.serve_kept, cpu_seconds)
            self.events.register(self.kept.done, select.POLLIN)
        self.kept.programs += 1
        used = self.kept.cpu_used()
        stopped = self.wait(self.kept.pid, wall_ms, self.kept.done)
        if stopped is None:
            os.read(self.kept.done, 1)
            self.tell(0, "", self.kept.cpu_used() - used, start)
            return
        _, status, usage = os.wait4(self.kept.pid, 0)
        self.forget_kept()
        self.discard_unread()
        self.tell(os.waitstatus_to_exitcode(status), stopped, usage.ru_utime + usage.ru_stime, start)

    def run(self, setup_id, cpu_seconds, wall_ms):
        self.end_kept()
        start = time.monotonic()
        pid = os.fork()
        if pid == 0:
            try:
                self.child(self.setups[setup_id], cpu_seconds)
            finally:
                os._exit(97)
        stopped = self.wait(pid, wall_ms)
        _, status, usage = os.wait4(pid, 0)
        self.discard_unread()
        self.tell(os.waitstatus_to_exitcode(status), stopped, usage.ru_utime + usage.ru_stime, start)

    def tell(self, status, stopped, cpu_seconds, start):
        """Reports the end of a program, with the files that it left, and closes its pipes' part with a token."""
        names = os.listdir(self.work)
        files = self.read_files(names) if names else []
        if names:
            self.clean()
        for fd in (1, harness.OUT):
            os.set_blocking(fd, True)
        token = os.urandom(16).hex()
        # The report goes first: after a flood the trusted side reads the two pipes again only when it knows the token.
        report({"exit": status, "stopped": stopped, "files": files, "token": token, "cpuMs": cpu_seconds * 1000,
                "wallMs": (time.monotonic() - start) * 1000})
        os.write(1, token.encode())
        # What the program held back comes before the token, so that the trusted side reads it as part of the program's records.
        data = harness.take_held() + token.encode()
        while data:
            data = data[os.write(harness.OUT, data):]

    def discard_unread(self):
        """Empties what dead programs have not read; returns how many bytes that were."""
        unread = 0
        while waiting := self.inputs.poll(0):
            for fd, _ in waiting:
                piece = os.read(fd, 1 << 16)
                if not piece:
                    raise EOFError
                unread += len(piece)
        return unread

    def serve(self):
        report({"ready": {"version": list(sys.version_info[:3]), "layers": self.layers, "work": self.work,
                          "cgroup": self.cgroup}})
        while True:
            operation, *rest = self.control.line()
            if operation == "S":
                # Setup code is compiled here and run in the program's process: the server never runs code from a data file.
                setup = compile_setup(binascii.a2b_base64(rest[1]).decode())
                for name in LOADED_FOR_SETUP.intersection(setup.co_names if setup else ()):
                    __import__(name)
                self.setups[rest[0]] = setup
                gc.freeze()
            elif operation == "J":
                self.run(rest[0], int(rest[1]), int(rest[2]))
            elif operation == "L":
                self.run_kept(int(rest[0]), int(rest[1]))
            elif operation == "D":
                report({"unread": self.discard_unread()})
            # A K that comes late is ignored: its program is already dead.


def hide_install_folder():
    """Programs import from the standard library only, and do not learn where this file lies."""
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != HERE]
    sys.path_importer_cache.pop(HERE, None)
    for module in list(sys.modules.values()):
        if os.path.dirname(getattr(module, "__file__", None) or "") == HERE:
            module.__file__ = module.__spec__ = module.__loader__ = None


def main():
    server = Server(marshal.loads(binascii.a2b_base64(sys.argv[1])))
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(1, "w", closefd=False), 1 << 16), encoding="utf-8", errors="backslashreplace")
    sys.argv = [""]
    random.seed(0)
    site.setquit()
    hide_install_folder()
    harness.rehearse()
    own_tests.run_definitions(harness.REHEARSAL, {"__name__": "rehearsal"})
    gc.disable()
    gc.collect()
    gc.freeze()
    try:
        server.serve()
    except EOFError:
        pass
    finally:
        server.end_kept()
        os.chdir("/")
        server.clean()
        if not server.private_disk:
            os.rmdir(server.work)


main()
