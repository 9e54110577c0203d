"""Values on their way between two processes: plain ones as they are, linked lists and trees as plain lists with a note of where.

`pack` replaces every node inside a value by a plain list, and says at which path it did (the builders of shapes.py); what is
neither plain nor a node makes marshal fail. `skeleton` splits a value into its plain parts and the parts that have no plain form.
"""
import marshal

import shapes

DEEPEST = 50


def node_kind(value):
    if type(value) in (list, tuple, dict, set, frozenset, int, float, str, bool, type(None)):
        return ""
    if hasattr(value, "val") and hasattr(value, "next"):
        return "list"
    return "tree" if hasattr(value, "val") and hasattr(value, "left") and hasattr(value, "right") else ""


def tree_values(root):
    """The list from which tree_node() of the setup code builds this tree: None stands for no node."""
    marks, values = shapes.flatten_tree(root)
    if None in values:
        raise ValueError("a node whose value is None cannot be told from no node")
    rest = iter(values)
    return [next(rest) if mark == "1" else None for mark in marks]


def pack(value, path, builders):
    kind = node_kind(value)
    if kind:
        builders.append((kind, path))
        return shapes.flatten_list(value) if kind == "list" else tree_values(value)
    if type(value) is list and len(path) < DEEPEST:
        return [pack(item, path + [index], builders) for index, item in enumerate(value)]
    return value


def pack_arguments(arguments, keywords):
    """Returns marshal of (positional, keywords, builders); raises ValueError when a value has no plain form."""
    builders = []
    positional = [pack(value, [index], builders) for index, value in enumerate(arguments)]
    named = {name: pack(value, [name], builders) for name, value in keywords.items()}
    return marshal.dumps((positional, named, builders), 2)


def is_plain(value):
    try:
        marshal.dumps(value, 2)
    except ValueError:
        return False
    return True


def skeleton(value, path, leaves):
    """The value with None in place of each part that has no plain form; the parts go to `leaves`, each with its path."""
    if is_plain(value):
        return value
    if type(value) in (list, tuple) and len(path) < DEEPEST:
        return type(value)(skeleton(item, path + [index], leaves) for index, item in enumerate(value))
    leaves.append((path, value))
    return None
