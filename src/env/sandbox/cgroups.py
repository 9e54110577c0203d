"""A cgroup (version 2) of the worker's own, where one can be made: memory, processes and CPU of a worker are bounded as a whole.

Nothing of the machine's own setup is changed: a group is made only where the parent already hands out the controllers. The
trusted side removes it when the worker has ended.
"""
import os

# The server and the template, beside the program.
SERVER_BYTES, SERVER_PROCESSES = 128 << 20, 8
CPU_SHARE = "150000 100000"


def mount_point():
    with open("/proc/self/mountinfo") as mounts:
        for line in mounts:
            left, _, right = line.partition(" - ")
            if right.startswith("cgroup2 "):
                return left.split(" ")[4]
    raise OSError(2, "no cgroup of version 2 is mounted")


def own_path():
    with open("/proc/self/cgroup") as groups:
        for line in groups:
            if line.startswith("0::"):
                return line[3:].strip()
    raise OSError(2, "this process is in no cgroup of version 2")


def read(folder, name):
    with open(os.path.join(folder, name)) as file:
        return file.read()


def write(folder, name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(str(text))


def parents():
    """Groups under which one could be made: the own one, those above it, up to the root that is mounted here."""
    root = mount_point()
    path = own_path().rstrip("/")
    while True:
        yield root + path
        if path in ("", "/.."):
            return
        path = os.path.dirname(path).rstrip("/")


def remove_abandoned(parent):
    """Removes groups whose trainer is gone. The kernel refuses to remove one that still holds a process."""
    for name in os.listdir(parent):
        parts = name.split("-")
        if parts[0] == "gq" and len(parts) == 3 and parts[1].isdigit() and not os.path.exists("/proc/" + parts[1]):
            try:
                os.rmdir(os.path.join(parent, name))
            except OSError:
                pass


def fill(group, config, controllers):
    write(group, "memory.max", config["memoryBytes"] + SERVER_BYTES)
    write(group, "pids.max", config["threads"] + SERVER_PROCESSES)
    if "cpu" in controllers:
        write(group, "cpu.max", CPU_SHARE)
    if os.path.exists(os.path.join(group, "memory.swap.max")):
        write(group, "memory.swap.max", 0)
    write(group, "cgroup.procs", os.getpid())


def enter(config):
    """Moves this process into a group of its own. Returns the group's folder, or raises OSError with the reason why not."""
    reason = OSError(2, "no cgroup of version 2 is reachable")
    for parent in parents():
        try:
            controllers = read(parent, "cgroup.subtree_control").split()
            missing = [name for name in ("memory", "pids") if name not in controllers]
            if missing:
                raise OSError(95, "%s hands out no %s" % (parent, " and no ".join(missing)))
            remove_abandoned(parent)
            group = os.path.join(parent, "gq-%d-%d" % (config["trainer"], config["worker"]))
            os.mkdir(group)
            try:
                fill(group, config, controllers)
            except OSError:
                os.rmdir(group)
                raise
            return group
        except OSError as error:
            reason = error
    raise reason
