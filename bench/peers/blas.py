"""Which BLAS a peer multiplies with. Debian's python3-torch alone brings the reference BLAS, some twenty times slower than any
other: a comparison with it says nothing, so it is refused."""
import os
import re

import torch

KNOWN = {"openblas": "OpenBLAS", "mkl": "MKL", "blis": "BLIS", "atlas": "ATLAS"}


def name_of(paths, config):
    """The BLAS among the libraries that a process has loaded; `config` is what PyTorch says about its build."""
    for word, name in KNOWN.items():
        if any(word in path.lower() for path in paths):
            return name
    if any(re.search(r"/libblas\.so", path) for path in paths):
        return "reference BLAS"
    return "MKL" if "mkl" in config.lower() else "unknown BLAS"


def loaded_libraries():
    torch.ones(64, 64) @ torch.ones(64, 64)
    with open("/proc/self/maps") as maps:
        paths = {line.split(maxsplit=5)[5].strip() for line in maps if len(line.split(maxsplit=5)) == 6}
    return {os.path.realpath(path) for path in paths if path.startswith("/")}


def expect_fast_blas():
    """The name of the BLAS; ends the process where it is the reference BLAS."""
    name = name_of(loaded_libraries(), torch.__config__.show())
    if name == "reference BLAS":
        raise SystemExit(
            "PyTorch multiplies with the reference BLAS, which no one trains with. Install another one: apt-get install libopenblas0-pthread"
        )
    return name
