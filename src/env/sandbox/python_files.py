"""The files that a program may read: Python's standard library, the shared libraries its modules load, time zones, two devices.

Folders inside the standard library that hold installed packages, Python's own tests or parts for building are masked: what is
not there can be neither imported nor used to pass messages between programs by the state of the page cache.
"""
import os
import sys
import sysconfig

MASKED = ("site-packages", "dist-packages", "test", "tests", "idlelib", "ensurepip", "turtledemo", "lib2to3", "tkinter",
          "posix", "right")  # The last two are the time zones once more.
MASKED_BEGINNINGS = ("config-",)
OTHER_FOLDERS = ("/usr/share/zoneinfo",)
DEVICES = ("/dev/null", "/dev/urandom")
READ_AHEAD = 128 << 10


def is_masked(name):
    return name in MASKED or name.startswith(MASKED_BEGINNINGS)


def is_for_others(name):
    """Whether this is compiled code that this Python does not load: of another version, or for its options -O and -OO."""
    return name.endswith(".pyc") and name.count(".") > 1 and not name.endswith(".%s.pyc" % sys.implementation.cache_tag)


def is_shown(entry):
    """A link may be: where it leads out of what is shown, there is nothing."""
    if entry.is_symlink():
        return True
    return not is_masked(entry.name) if entry.is_dir() else entry.is_file() and not is_for_others(entry.name)


def entries_shown(folder):
    """What programs see of a folder: each entry with its path inside, a folder before what it holds."""
    places = [""]
    for place in places:
        for entry in filter(is_shown, os.scandir(folder + place)):
            inside = place + "/" + entry.name
            if entry.is_dir(follow_symlinks=False):
                places.append(inside)
            yield inside, entry


def fetch(path):
    """Asks for a file to be in memory: how long reading it takes would tell whether another program has read it."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except PermissionError:
        return  # Then no program can read it.
    # The kernel reads no more at one request than it reads ahead.
    for start in range(0, os.fstat(fd).st_size, READ_AHEAD):
        os.posix_fadvise(fd, start, READ_AHEAD, os.POSIX_FADV_WILLNEED)
    os.close(fd)


def is_inside(path, folders):
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def links_to(libraries):
    """The names under which the loader looks for the libraries: links beside them that lead to them."""
    wanted = set(libraries)
    found = []
    for folder in sorted({os.path.dirname(path) for path in libraries}):
        for entry in os.scandir(folder):
            target = os.path.realpath(entry.path) if entry.is_symlink() else ""
            if target in wanted:
                found.append((entry.path, target))
    return found


class PythonFiles:
    def __init__(self, libraries):
        paths = sysconfig.get_paths()
        library_folders = {os.path.realpath(paths[name]) for name in ("stdlib", "platstdlib")}
        self.standard = sorted(path for path in library_folders if os.path.isdir(path))
        self.others = [os.path.realpath(path) for path in OTHER_FOLDERS if os.path.isdir(path)]
        self.folders = self.standard + self.others
        real = {os.path.realpath(path) for path in libraries}
        self.libraries = sorted(path for path in real if os.path.isfile(path) and not is_inside(path, self.folders))
        self.links = links_to(self.libraries)
        self.devices = [path for path in DEVICES if os.path.exists(path)]

    def parts(self):
        """What is not masked inside the standard library, entry by entry. Python has listed the folder itself already."""
        entries = [entry for folder in self.standard for entry in os.scandir(folder) if not is_masked(entry.name)]
        return sorted({os.path.realpath(entry.path) for entry in entries}) + self.others
