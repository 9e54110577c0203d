"""The layers around one worker, entered once at its start. Each is tried and reported; none is assumed.

namespaces    own pid, network, ipc, host-name and mount namespace: nobody to signal, no network device
private root  a new root in memory: Python's files, bound one by one and read-only; one small tmpfs to work in, fresh for every process
own uid       (started as root) a user id that no other worker has: no privilege, its own process count
cgroup        (where the kernel's second version is writable) memory, processes and CPU of the whole worker are bounded
landlock      no file outside Python's own and the working directory, not even for reading
no privileges every capability dropped, no_new_privs
The seccomp filter and the resource limits are set in each program (server.py).
"""
import ctypes
import os
import stat
import struct
import sys

import cgroups
from python_files import PythonFiles, entries_shown, fetch

libc = ctypes.CDLL(None, use_errno=True)
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 0x4000, 0x40000
MNT_DETACH = 2
NEW_USER, NEW_OTHERS = 0x10000000, 0x20000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
# The rule for files is about the folder: it holds for whatever is mounted inside.
WORK_FOLDER, WORK = "/sandbox", "/sandbox/work"
WORK_OPTIONS = "size=32m,nr_inodes=512,mode=0700,uid=%d,gid=%d"


def check(result, what):
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, "%s: %s" % (what, os.strerror(error)))
    return result


def mount(source, target, kind, flags, options=None):
    check(libc.mount(source, os.fsencode(target), kind, ctypes.c_ulong(flags), options), "mount %s" % target)


def enter_namespaces():
    """Moves this process into new namespaces; only its next child gets the new pid namespace (become_first_process)."""
    uid, gid = os.getuid(), os.getgid()
    check(libc.unshare(ctypes.c_int(NEW_OTHERS if uid == 0 else NEW_USER | NEW_OTHERS)), "unshare")
    if uid != 0:
        for name, text in (("setgroups", "deny"), ("uid_map", "%d %d 1" % (uid, uid)), ("gid_map", "%d %d 1" % (gid, gid))):
            with open("/proc/self/" + name, "w") as file:
                file.write(text)
    mount(None, "/", None, MS_REC | MS_PRIVATE)


class Disk:
    """The disk that programs work on. Its numbers of files and its times would tell one program of another, so each process gets a
    fresh one. It is mounted by the first process of the worker, which keeps its privileges and does nothing else."""

    def __init__(self):
        self.wanted, self.wants = os.pipe()
        self.is_there, self.mounted = os.pipe()

    def serve(self):
        """Mounts a disk whenever one is wanted, until the server has ended."""
        os.close(self.wants)
        while os.read(self.wanted, 1):
            owner = os.stat(WORK)
            check(libc.umount2(os.fsencode(WORK), MNT_DETACH), "umount %s" % WORK)
            mount_work(WORK, owner.st_uid, owner.st_gid)
            os.write(self.mounted, b".")

    def use(self):
        """Called by the server: leaves it its own two ends."""
        os.close(self.wanted)
        os.close(self.mounted)

    def close(self):
        os.close(self.wants)
        os.close(self.is_there)

    def renew(self):
        os.write(self.wants, b".")
        if not os.read(self.is_there, 1):
            raise EOFError


def mount_work(path, uid, gid):
    mount(b"tmpfs", path, b"tmpfs", MS_NOSUID | MS_NODEV, (WORK_OPTIONS % (uid, gid)).encode())


def become_first_process():
    """Goes on in a child that is the first process of the pid namespace. Returns what gives it fresh disks."""
    disk = Disk()
    pid = os.fork()
    if pid:
        for fd in (0, 1, 3, 4, 5, 6, disk.is_there):
            os.close(fd)
        disk.serve()
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    disk.use()
    return disk


class ProcessCount:
    """The number that the newest process or thread of this pid namespace has. The kernel counts on for every thread."""

    def __init__(self):
        self.fd = os.open("/proc/loadavg", os.O_RDONLY)

    def newest(self):
        return int(os.pread(self.fd, 100, 0).split()[-1])


def bind(source, target, flags=MS_NODEV):
    mount(os.fsencode(source), target, None, MS_BIND | MS_REC)
    try:
        mount(None, target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | flags)
    except OSError:
        pass  # The outer mount's flags are locked; file permissions and Landlock still hold.


def bind_file(path, root):
    fetch(path)
    os.makedirs(os.path.dirname(root + path), exist_ok=True)
    os.mknod(root + path)
    bind(path, root + path, 0 if path.startswith("/dev") else MS_NODEV)


def mirror_folder(path, root):
    """Makes folders of the same names in the new root, and binds each file alone. In a folder of the machine's own the kernel
    remembers which absent names were looked for, and a program could time that; in a folder in memory it remembers none."""
    source = root + "/source"
    os.mkdir(source)
    bind(path, source)
    os.makedirs(root + path, exist_ok=True)
    folders = [(source, root + path)]
    for inside, entry in entries_shown(source):
        target = root + path + inside
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), target)
        elif entry.is_dir():
            os.mkdir(target)
            folders.append((entry.path, target))
        else:
            fetch(entry.path)
            os.mknod(target)
            # It is as read-only as what it comes from.
            mount(os.fsencode(entry.path), target, None, MS_BIND)
    for folder, target in folders:
        os.chmod(target, stat.S_IMODE(os.stat(folder).st_mode))
    check(libc.umount2(os.fsencode(source), MNT_DETACH), "umount %s" % source)
    os.rmdir(source)


def enter_private_root(root, files):
    mount(b"tmpfs", root, b"tmpfs", MS_NOSUID | MS_NODEV, b"size=1m,mode=0755")
    try:
        for path in files.folders:
            mirror_folder(path, root)
        for path in files.libraries + files.devices:
            bind_file(path, root)
        for link, target in files.links:
            os.makedirs(os.path.dirname(root + link), exist_ok=True)
            os.symlink(target, root + link)
        os.makedirs(root + WORK)
        mount_work(root + WORK, os.getuid(), os.getgid())
        os.chdir(root)
        check(libc.syscall(PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    except BaseException:
        os.chdir("/")
        libc.umount2(os.fsencode(root), MNT_DETACH)
        raise
    check(libc.umount2(b".", MNT_DETACH), "umount")
    os.chdir("/")
    mount(None, "/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
    return WORK


def make_work_directory(parent):
    path = os.path.join(parent, "gq-work-%d-%s" % (os.getpid(), os.urandom(4).hex()))
    os.mkdir(path, 0o700)
    return path


def trial(action):
    """Runs `action` in a throw-away process. Returns '' when it works, else the reason why not."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        reason = b""
        try:
            action()
        except BaseException as error:
            reason = (str(error) or repr(error)).encode()
        os.write(writer, reason)
        os._exit(0)
    os.close(writer)
    reason = os.read(reader, 1000).decode()
    os.close(reader)
    os.waitpid(pid, 0)
    return reason


def take_own_uid(work, uid, files):
    """Becomes a user that nobody else is: the kernel counts processes by user, and a neighbour's must not count here."""
    for path in files.folders + files.libraries:
        needed = 0o001 if os.path.isdir(path) else 0o004
        while path != "/":
            if not os.stat(path).st_mode & needed:
                raise OSError(13, "%s is closed to other users" % path)
            path, needed = os.path.dirname(path), 0o001
    os.chown(work, uid, uid)
    try:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    except OSError:
        os.chown(work, os.getuid(), os.getgid())
        raise


def drop_privileges():
    check(libc.prctl(38, 1, 0, 0, 0), "no_new_privs")
    header, nothing = struct.pack("<Ii", 0x20080522, 0), bytes(24)
    check(libc.capset(header, nothing), "capset")
    libc.prctl(4, 0, 0, 0, 0)  # Not dumpable: no process of the same user may trace this one.


def restrict_files(readable, writable):
    version = libc.syscall(LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    if version < 1:
        raise OSError(38, "the kernel has no Landlock")
    files = (1 << 13) - 1
    for needs, bit in ((2, 13), (3, 14), (5, 15)):
        files |= (1 << bit) if version >= needs else 0
    attributes = struct.pack("<QQQ", files, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = check(libc.syscall(LANDLOCK_CREATE, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0)), "landlock")
    read = 1 << 2 | 1 << 3
    write = read | 1 << 1 | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | (1 << 14 if version >= 3 else 0)
    for path, rights in [(path, read) for path in readable] + [(path, write) for path in writable]:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        if not os.path.isdir(path):
            rights &= 1 << 1 | 1 << 2 | 1 << 14
        rule = struct.pack("<Qi", rights, fd)
        check(libc.syscall(LANDLOCK_ADD, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint32(0)), "landlock " + path)
        os.close(fd)
    check(libc.syscall(LANDLOCK_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0)), "landlock")
    os.close(ruleset)
    return version


def attempt(report, name, wanted, action):
    """Enters a layer and records '' when it is active, else the reason why it is not."""
    if name not in wanted:
        report[name] = "switched off"
        return None
    try:
        result = action()
        report[name] = ""
        return result
    except (OSError, AttributeError, KeyError) as error:
        report[name] = str(error)
        return None


LAYERS = ("cgroup", "namespaces", "privateRoot", "ownUid", "noPrivileges", "landlock")


class Entered:
    """What the worker is in: its layers, and for each that is not active the reason why."""

    def __init__(self, report):
        self.report = report
        self.work = self.cgroup = self.disk = self.processes = None


def enter(config):
    """Enters every layer in config["layers"] that this machine allows."""
    wanted, work_parent = config["layers"], config["workParent"]
    report = {}
    entered = Entered(report)
    if not sys.platform.startswith("linux"):
        entered.work = make_work_directory(work_parent)
        report.update({name: "Linux only" for name in LAYERS})
        return entered
    files = PythonFiles(config["libraries"])
    entered.cgroup = attempt(report, "cgroup", wanted, lambda: cgroups.enter(config))

    report["namespaces"] = trial(enter_namespaces) if "namespaces" in wanted else "switched off"
    if report["namespaces"] == "":
        enter_namespaces()
        disk = become_first_process()
        entered.processes = ProcessCount() if os.path.exists("/proc/loadavg") else None
        entered.work = attempt(report, "privateRoot", wanted, lambda: enter_private_root(work_parent, files))
        if entered.work is None:
            disk.close()
        else:
            entered.disk = disk
    else:
        report["privateRoot"] = "no namespaces" if "privateRoot" in wanted else "switched off"
    if entered.work is None:
        entered.work = make_work_directory(work_parent)
    os.chmod(entered.work, 0o700)
    if os.getuid() == 0:
        attempt(report, "ownUid", wanted, lambda: take_own_uid(entered.work, config["uid"], files))
    else:
        report["ownUid"] = "not started as root"
    attempt(report, "noPrivileges", wanted, drop_privileges)
    # In a private root the packages are hidden already, and whole folders are opened by one rule each.
    readable, writable = (files.folders, WORK_FOLDER) if entered.disk else (files.parts(), entered.work)
    attempt(report, "landlock", wanted, lambda: restrict_files(readable + files.libraries + files.devices, [writable]))
    return entered


def die_with_parent():
    if sys.platform.startswith("linux"):
        libc.prctl(1, 9, 0, 0, 0)


def adopt_orphans():
    """Makes this process the parent of every process below it whose parent ends (PR_SET_CHILD_SUBREAPER)."""
    check(libc.prctl(36, 1, 0, 0, 0), "prctl")
