"""Seccomp filter of one program: an allow-list of system calls, as raw BPF through ctypes.

It allows no socket, no exec, no fork (threads only), no signal to anyone, no ptrace, no chmod, no mkdir, no link, no
change of the shared pipes' flags, no raising of limits: such calls fail with EPERM. Nor does it allow what a program could tell
the next one by, or learn of others: pipes (the kernel numbers them), numbers of mounts (statx), the state of the whole machine
(sysinfo), clocks and limits of other processes. It needs no privilege and no package.
"""
import ctypes
import os
import struct

LOAD, JUMP, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_SET, RETURN = 0x20, 0x05, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x00050001, 0x00050026
NUMBER, ARCHITECTURE, ARGUMENT = 0, 4, (16, 24, 32, 40, 48, 56)

CLONE_VM, CLONE_THREAD, CLONE_NEW_ANY = 0x100, 0x10000, 0x7E020080
X32_BIT = 0x40000000

X86_64 = dict(
    audit=0xC000003E, clone=56, clone3=435, fcntl=72, ioctl=16, prlimit=302, madvise=28,
    clock_gettime=228, clock_getres=229, clock_nanosleep=230,
    allowed=(
        0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,  # read write close stat.. mmap mprotect munmap brk rt_sig*
        17, 18, 19, 20, 21, 23, 24, 25,  # pread pwrite readv writev access select yield mremap
        32, 33, 35, 39, 60, 63, 77, 78, 79, 87, 89,  # dup dup2 nanosleep getpid exit uname ftruncate getdents getcwd unlink
        96, 98, 100, 102, 104, 107, 108, 110,  # gettimeofday getrusage times get*id
        131, 158, 186, 201, 202, 204, 217, 219,  # sigaltstack arch_prctl gettid time futex affinity getdents64 restart
        231, 2, 257, 262, 263, 267, 269,  # exit_group open openat newfstatat unlinkat readlinkat faccessat
        270, 271, 273, 292, 318, 324, 334, 439,  # pselect ppoll robust dup3 getrandom membarrier rseq faccessat2
    ),
)
AARCH64 = dict(
    audit=0xC00000B7, clone=220, clone3=435, fcntl=25, ioctl=29, prlimit=261, madvise=233,
    clock_gettime=113, clock_getres=114, clock_nanosleep=115,
    allowed=(
        63, 64, 57, 80, 62, 222, 226, 215, 214, 134, 135, 139, 67, 68, 65, 66, 124, 216,
        23, 24, 101, 172, 93, 160, 46, 61, 17, 35, 78, 169, 165, 153, 174, 176, 175, 177, 173,
        132, 178, 98, 123, 128, 94, 56, 79, 48, 72, 73, 99, 278, 283, 293, 439,
    ),
)
TABLES = {"x86_64": X86_64, "aarch64": AARCH64}
# TCGETS, TIOCGWINSZ, FIOCLEX, FIONCLEX: the requests that Python makes when it opens a file.
IOCTLS = (0x5401, 0x5413, 0x5451, 0x5450)
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC. Not F_SETFL (its flags are shared with the next program) or F_SETOWN.
FCNTLS = (0, 1, 2, 3, 1030)

# The clocks of the machine, and of the caller's own process and thread.
CLOCKS = (0, 1, 2, 3, 4, 5, 6, 7, 11)

# Advice that concerns the caller's own memory. Not COLD or PAGEOUT, which throw pages of files out of everyone's memory.
ADVICE = (4, 8, 14, 15, 0, 1, 2, 3, 10, 11, 16, 17, 18, 19)


def only(argument, values):
    """Instructions that allow a call when the low half of `argument` is one of `values`, and else give EPERM."""
    body = [(LOAD, 0, 0, ARGUMENT[argument])]
    body += [(JUMP_EQUAL, len(values) - index, 0, value) for index, value in enumerate(values)]
    return body + [(RETURN, 0, 0, EPERM), (RETURN, 0, 0, ALLOW)]


def segments(table, special):
    """Where the answer changes as call numbers grow: (first number, answer), an answer being the name of a place in the filter."""
    answers = {number: "allow" for number in table["allowed"]}
    answers.update({number: name for name, number in special.items()})
    found = [(0, answers.get(0, "deny"))]
    for number in range(1, max(answers) + 2):
        answer = answers.get(number, "deny")
        if answer != found[-1][1]:
            found.append((number, answer))
    return found


def search(parts):
    """Finds the answer of a call number in few steps, with the names of places as targets: when a filter is installed, the kernel
    follows it once for every call there is. Returns (name of its beginning, instructions between named places)."""
    if len(parts) == 1:
        return parts[0][1], []
    middle = len(parts) // 2
    number = parts[middle][0]
    below, first = search(parts[:middle])
    above, second = search(parts[middle:])
    name = "from %d" % parts[0][0] + " by %d" % number
    return name, [name, (JUMP_AT_LEAST, above, below, number)] + first + second


def assemble(lines):
    """Puts distances in place of names. A distance counts the instructions that are jumped over."""
    places, code = {}, []
    for line in lines:
        if isinstance(line, str):
            places[line] = len(code)
        else:
            code.append(line)
    def distance(target, at):
        return places[target] - at - 1 if isinstance(target, str) else target
    return [(op, distance(yes, at), distance(no, at), value) for at, (op, yes, no, value) in enumerate(code)]


def program(table):
    threads_only = [
        (LOAD, 0, 0, ARGUMENT[0]),
        (JUMP_SET, 0, 3, CLONE_THREAD),
        (JUMP_SET, 0, 2, CLONE_VM),
        (JUMP_SET, 1, 0, CLONE_NEW_ANY),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, EPERM),
    ]
    own_limits = [
        (LOAD, 0, 0, ARGUMENT[0]),
        (JUMP_EQUAL, 0, 5, 0),
        (LOAD, 0, 0, ARGUMENT[2]),
        (JUMP_EQUAL, 0, 3, 0),
        (LOAD, 0, 0, ARGUMENT[2] + 4),
        (JUMP_EQUAL, 0, 1, 0),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, EPERM),
    ]
    bodies = dict(
        madvise=only(2, ADVICE),
        clone=threads_only,
        clone3=[(RETURN, 0, 0, ENOSYS)],  # The C library then uses clone, whose flags the filter can read.
        fcntl=only(1, FCNTLS),
        ioctl=only(1, IOCTLS),
        prlimit=own_limits,  # The own limits may be read, never set.
        clock_gettime=only(0, CLOCKS),
        clock_getres=only(0, CLOCKS),
        clock_nanosleep=only(0, CLOCKS),
    )
    lines = [(LOAD, 0, 0, ARCHITECTURE), (JUMP_EQUAL, 1, 0, table["audit"]), (RETURN, 0, 0, KILL), (LOAD, 0, 0, NUMBER)]
    if table is X86_64:
        lines += [(JUMP_AT_LEAST, 0, 1, X32_BIT), (RETURN, 0, 0, KILL)]
    lines += search(segments(table, {name: table[name] for name in bodies}))[1]
    for name, body in bodies.items():
        lines += [name] + body
    return assemble(lines + ["allow", (RETURN, 0, 0, ALLOW), "deny", (RETURN, 0, 0, EPERM)])


class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def build():
    """The filter as the kernel wants it, or None on a machine whose call numbers are not known here."""
    table = TABLES.get(os.uname().machine)
    if table is None:
        return None
    code = program(table)
    raw = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", op, yes, no, value) for op, yes, no, value in code))
    filter_ = Filter(len(code), ctypes.addressof(raw))
    filter_.keep = raw
    return filter_


def install(libc, filter_):
    """Installs the filter (PR_SET_SECCOMP, SECCOMP_MODE_FILTER); no_new_privs must be set."""
    if libc.prctl(22, 2, ctypes.byref(filter_), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")
