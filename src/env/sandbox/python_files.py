"""The files that a program may read: Python's standard library, the shared libraries its modules load, time zones, two devices.

Folders inside the standard library that hold installed packages, Python's own tests or parts for building are masked: what is
not there can be neither imported nor used to pass messages between programs by the state of the page cache.
"""
import os
import sysconfig

MASKED = ("site-packages", "dist-packages", "test", "tests", "idlelib", "ensurepip", "turtledemo", "lib2to3", "tkinter")
MASKED_BEGINNINGS = ("config-",)
OTHER_FOLDERS = ("/usr/share/zoneinfo",)
DEVICES = ("/dev/null", "/dev/urandom")


def is_masked(name):
    return name in MASKED or name.startswith(MASKED_BEGINNINGS)


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
        # A link is no folder to mount on: it leads out of the standard library, to where nothing is.
        self.masked = [
            entry.path for folder in self.standard for entry in os.scandir(folder)
            if is_masked(entry.name) and entry.is_dir(follow_symlinks=False)
        ]

    def parts(self):
        """What is not masked inside the standard library, entry by entry. Python has listed the folder itself already."""
        entries = [entry for folder in self.standard for entry in os.scandir(folder) if not is_masked(entry.name)]
        return sorted({os.path.realpath(entry.path) for entry in entries}) + self.others
