"""The server of one worker: it has a process made for each program, and one for many straight-line programs, and learns how they end.

It holds no program, no input, no output and no expected value: those go between the trusted side and the program on
descriptors the server never reads (4 in, 5 out, 1 the program's stdout). Programs are not forked from it, but from a template
(template.py) that never learns what a program did: nothing of one is found in the memory of the next.
Straight-line programs come in on 6, which only their process holds: it cannot read a program of another kind.
Modules that pull in much (json, re, enum, signal) are not loaded: each makes every fork longer.
In (fd 0), lines:  S id base64(setup code) | J setup-id cpu-seconds wall-ms | L wall-ms | K | D
Out (fd 3), JSON lines: {"ready"…} once, {"exit"…} when a program is dead and reaped, {"unread"…} in answer to D.
After a program's death what it left unread on fd 4 is thrown away, and a token is written on 1 and 5, so that the trusted
side knows it has read everything: the program was dead before the token was drawn. D throws away and counts once more, so
that the trusted side can be sure that no secret waits there for the next program.
"""
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
from template import KEPT_CPU_SECONDS, KEPT_IN, REPORT, Lineage, Template

# The random module would seed itself in every fork. That takes a third of a fork's time, and programs must not depend on chance.
register_at_fork, os.register_at_fork = os.register_at_fork, lambda **handlers: None
import random
os.register_at_fork = register_at_fork

CONTROL = 0
LARGEST_FILES, LARGEST_FILE_READ, MOST_ENTRIES, TICK_MS = 32, 64 << 10, 64, 50
MOST_KEPT_PROGRAMS = 1_000


def report(message):
    data = messages.encode(message) + b"\n"
    while data:
        data = data[os.write(REPORT, data):]


class Process:
    """One that runs programs: one program, or straight-line programs one after the other."""

    def __init__(self, pid, cpu_before):
        self.pid, self.programs, self.cpu_told = pid, 0, cpu_before

    def cpu_so_far(self):
        """By Linux's number for the clock of another process; 0 elsewhere."""
        return time.clock_gettime(~self.pid << 3 | 2) if sys.platform.startswith("linux") else 0.0

    def cpu_since_told(self, so_far):
        since, self.cpu_told = so_far - self.cpu_told, so_far
        return since

    def is_used_up(self):
        return self.programs >= MOST_KEPT_PROGRAMS or self.cpu_told > KEPT_CPU_SECONDS / 2


class Server:
    def __init__(self, config):
        self.config = config
        self.control = messages.Lines(CONTROL)
        null = os.open("/dev/null", os.O_RDWR)
        # These are sockets. They are closed for writing here, so that nothing a program writes there reaches the trusted side.
        layers.libc.shutdown(harness.IN, 1)
        layers.libc.shutdown(KEPT_IN, 1)
        self.entered = layers.enter(config)
        self.work, self.disk, self.layers = self.entered.work, self.entered.disk, self.entered.report
        filter_ = seccomp.build() if sys.platform.startswith("linux") and "seccomp" in config["layers"] else None
        self.layers["seccomp"] = "" if filter_ else "switched off" if sys.platform == "linux" else "Linux only"
        layers.die_with_parent()
        # Programs inherit these limits. Only that of CPU time is set in each of them.
        for number, pair in self.make_limits():
            resource.setrlimit(number, pair)
        # The first process of a pid namespace takes all others with it when it ends.
        is_first = self.layers["namespaces"] == "" and os.getpid() == 1
        self.template = Template(self.work, null, filter_, not is_first)
        self.lineage = self.kept = None
        self.events, self.inputs = select.poll(), select.poll()
        self.events.register(CONTROL, select.POLLIN)
        self.inputs.register(harness.IN, select.POLLIN)
        self.inputs.register(KEPT_IN, select.POLLIN)

    def found_lineage(self):
        """Forks the template: from here on this process learns about programs, and what it learns is not passed on."""
        disk, processes = self.disk, self.entered.processes
        private = ([disk.wants, disk.is_there] if disk else []) + ([processes.fd] if processes else [])
        self.lineage = Lineage(self.template, private)
        # Some machines show the numbers of another namespace there.
        self.counts_threads = processes is not None and processes.newest() == self.lineage.heir

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
                slow = watch >= 0 and (self.disk or stopped)
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
                elif not self.disk and len(os.listdir(self.work)) > MOST_ENTRIES:
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
                fd = os.open(os.path.join(self.work, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
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

    def start(self, *order):
        if self.disk:
            self.disk.renew()
        return Process(*self.lineage.start(*order))

    def end_kept(self):
        if self.kept is not None:
            os.kill(self.kept.pid, 9)
            self.reap_kept()

    def reap_kept(self):
        _, status, usage = os.wait4(self.kept.pid, 0)
        self.events.unregister(self.lineage.done)
        try:
            os.read(self.lineage.done, 1)
        except BlockingIOError:
            pass
        self.kept = None
        return status, usage

    def run_kept(self, wall_ms):
        """Runs a straight-line program. The trusted side runs one again, in a process of its own, whose process does not end well."""
        start = time.monotonic()
        if self.kept is None:
            self.kept = self.start("L")
            self.events.register(self.lineage.done, select.POLLIN)
        process = self.kept
        process.programs += 1
        stopped = self.wait(process.pid, wall_ms, self.lineage.done)
        if stopped is None:
            os.read(self.lineage.done, 1)
            cpu_seconds = process.cpu_since_told(process.cpu_so_far())
            # Now, and not when the next program comes: this process would read its frame.
            if process.is_used_up():
                self.end_kept()
            self.tell(0, "", cpu_seconds, start)
            return
        status, usage = self.reap_kept()
        self.discard_unread()
        cpu_seconds = process.cpu_since_told(usage.ru_utime + usage.ru_stime)
        self.tell(os.waitstatus_to_exitcode(status), stopped, cpu_seconds, start)

    def run(self, setup_id, cpu_seconds, wall_ms):
        self.end_kept()
        start = time.monotonic()
        process = self.start("J", setup_id, cpu_seconds)
        stopped = self.wait(process.pid, wall_ms)
        _, status, usage = os.wait4(process.pid, 0)
        self.discard_unread()
        # What counts threads has moved, and the next program would see how far: this worker runs no other.
        worn = self.counts_threads and self.entered.processes.newest() != self.lineage.heir
        cpu_seconds = process.cpu_since_told(usage.ru_utime + usage.ru_stime)
        self.tell(os.waitstatus_to_exitcode(status), stopped, cpu_seconds, start, worn)

    def tell(self, status, stopped, cpu_seconds, start, worn=False):
        """Reports the end of a program, with the files that it left, and closes its pipes' part with a token."""
        names = os.listdir(self.work)
        files = self.read_files(names) if names else []
        if names and not self.disk:
            self.clean()
        for fd in (1, harness.OUT):
            os.set_blocking(fd, True)
        token = os.urandom(16).hex()
        # The report goes first: after a flood the trusted side reads the two pipes again only when it knows the token.
        report({"exit": status, "stopped": stopped, "files": files, "token": token, "worn": int(worn),
                "cpuMs": cpu_seconds * 1000, "wallMs": (time.monotonic() - start) * 1000})
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
                          "cgroup": self.entered.cgroup}})
        while True:
            operation, *rest = self.control.line()
            if operation == "S":
                self.end_kept()
                self.lineage.learn(*rest)
            elif operation == "J":
                self.run(rest[0], rest[1], int(rest[2]))
            elif operation == "L":
                self.run_kept(int(rest[0]))
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
    server.found_lineage()
    try:
        server.serve()
    except EOFError:
        pass
    finally:
        server.end_kept()
        server.lineage.close()
        if not server.disk:
            server.clean()
            os.rmdir(server.work)


main()
