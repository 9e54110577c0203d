"""The layers around one worker, entered once at its start. Each is tried and reported; none is assumed.

namespaces    own pid, network, ipc, host-name and mount namespace: nobody to signal, no network device
private root  a new root of bind mounts: Python's files read-only, one small tmpfs to work in, nothing else exists
own uid       (started as root) an unused user id: no privilege, its own process count
landlock      no file outside Python's own and the working directory, not even for reading
no privileges every capability dropped, no_new_privs
The seccomp filter and the resource limits are set in each program (server.py).
"""
import ctypes
import os
import struct
import sys
import sysconfig

libc = ctypes.CDLL(None, use_errno=True)
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 0x4000, 0x40000
MNT_DETACH = 2
NEW_USER, NEW_OTHERS = 0x10000000, 0x20000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
WORK_OPTIONS = b"size=32m,nr_inodes=512,mode=0700"


def check(result, what):
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, "%s: %s" % (what, os.strerror(error)))
    return result


def readable_paths():
    """Returns what Python itself must read: its library, loaded shared objects and time zones; and two devices."""
    paths = {sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["platstdlib"], "/usr/share/zoneinfo"}
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                path = line.split(None, 5)[5].strip() if line.count("/") else ""
                if ".so" in os.path.basename(path):
                    paths.add(os.path.dirname(path))
    except OSError:
        pass
    paths = {os.path.realpath(path) for path in paths if os.path.isdir(path)}
    return sorted(path for path in paths if path != "/"), [p for p in ("/dev/null", "/dev/urandom") if os.path.exists(p)]


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


def become_first_process():
    pid = os.fork()
    if pid:
        for fd in (0, 1, 3, 4, 5):
            os.close(fd)
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def bind(source, root):
    target = root + source
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        open(target, "w").close()
    mount(os.fsencode(source), target, None, MS_BIND | MS_REC)
    try:
        mount(None, target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | (0 if source.startswith("/dev") else MS_NODEV))
    except OSError:
        pass  # The outer mount's flags are locked; file permissions and Landlock still hold.


def enter_private_root(root, directories, devices):
    mount(b"tmpfs", root, b"tmpfs", MS_NOSUID | MS_NODEV, b"size=1m,mode=0755")
    for path in directories + devices:
        bind(path, root)
    os.makedirs(root + "/work")
    mount(b"tmpfs", root + "/work", b"tmpfs", MS_NOSUID | MS_NODEV, WORK_OPTIONS)
    os.chdir(root)
    check(libc.syscall(PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    check(libc.umount2(b".", MNT_DETACH), "umount")
    os.chdir("/")
    mount(None, "/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
    return "/work"


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


def take_own_uid(work, directories):
    uid = 1_900_000_000 + os.getppid() * 64 % 100_000_000 + os.getpid() % 64
    for path in directories:
        while path != "/":
            if not os.stat(path).st_mode & 0o001:
                raise OSError(13, "%s is closed to other users" % path)
            path = os.path.dirname(path)
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


def enter(wanted, work_parent):
    """Enters every layer in `wanted` that this machine allows. Returns (working directory, report)."""
    report = {}
    if not sys.platform.startswith("linux"):
        work = make_work_directory(work_parent)
        return work, {name: "Linux only" for name in ("namespaces", "privateRoot", "ownUid", "landlock", "noPrivileges")}
    directories, devices = readable_paths()
    work = None

    def both():
        enter_namespaces()
        enter_private_root(work_parent, directories, devices)

    whole = trial(both) if "privateRoot" in wanted and "namespaces" in wanted else "switched off"
    alone = "" if whole == "" or "namespaces" not in wanted else trial(enter_namespaces)
    if "namespaces" in wanted and alone == "":
        enter_namespaces()
        become_first_process()
        report["namespaces"] = ""
        if whole == "":
            work = enter_private_root(work_parent, directories, devices)
    else:
        report["namespaces"] = alone or "switched off"
    report["privateRoot"] = whole
    if work is None:
        work = make_work_directory(work_parent)
    os.chmod(work, 0o700)
    if os.getuid() == 0:
        attempt(report, "ownUid", wanted, lambda: take_own_uid(work, directories))
    else:
        report["ownUid"] = "not started as root"
    attempt(report, "noPrivileges", wanted, drop_privileges)
    attempt(report, "landlock", wanted, lambda: restrict_files(directories + devices, [work]))
    return work, report


def die_with_parent():
    if sys.platform.startswith("linux"):
        libc.prctl(1, 9, 0, 0, 0)
