"""Tells the trusted side what this Python is: its executable, its version, and the shared libraries that its modules load.

The answer is one line of JSON. It must run on any Python, however old, so that an old one can be refused by its version.
"""
import json
import os
import sys

# Modules that no program needs and that pull in much: windows, network directories, sound, Python's own tests.
SKIPPED = ("_tkinter", "_test", "_xxtest", "xx", "_ctypes_test", "nis", "oss")


def mapped_libraries():
    found = set()
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split(None, 5)[5].strip() if line.count("/") else ""
            if ".so" in os.path.basename(path):
                found.add(path)
    return found


def needed_libraries():
    """Loads every extension module of the standard library, without starting it, and looks at what came with them."""
    import ctypes
    import sysconfig

    folder = os.path.join(sysconfig.get_paths()["platstdlib"], "lib-dynload")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    wanted = [os.path.join(folder, name) for name in sorted(names) if ".so" in name and not name.startswith(SKIPPED)]
    # The C library loads this one by name when a thread ends.
    for path in wanted + ["libgcc_s.so.1"]:
        try:
            ctypes.CDLL(path)
        except OSError:
            pass
    return sorted(path for path in mapped_libraries() if os.path.dirname(path) != folder)


def main():
    try:
        libraries = needed_libraries() if sys.platform.startswith("linux") else []
    except Exception:
        libraries = []
    print(json.dumps([sys.executable, list(sys.version_info[:3]), libraries]))


main()
