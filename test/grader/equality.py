"""Draws pairs of plain values and says, by Python's own ==, whether they are equal.

    python3 equality.py SEED PAIRS FOLDER-OF-SHAPES
Out: for each pair a kind (p plain, t tree), the answer (1 or 0), and three parts with their lengths: the expected value and
the given one in marshal (a tree: its level-order list, and what shapes.py makes of the other tree), and the expected value's
literal (empty where it has none).
"""
import marshal
import random
import struct
import sys
from collections import deque

sys.path.insert(0, sys.argv[3])
import shapes

draw = random.Random(int(sys.argv[1]))
NUMBERS = [0, 1, -1, 2, True, False, 0.0, -0.0, 1.0, 2.0, 0.5, -1.0, 2**31, -2**31, 2**31 - 1, 2**53, 2**53 + 1, float(2**53), 10**30,
           1e30, 2**1000, 2.0**1000, -2**1000, 2**15, 2**30, 2**60 - 1, 1e300, 5e-324, float("inf"), -float("inf")]
TEXTS = ["", "a", "b", "1", "None", "é", "é", "\0", "\U0001f600", "\ud83d\ude00", "\ud800", "\udfff", "\ud800\udc00", "\U00010000",
         "a\udc80b", "\ufffd", "'", '"', "\\", "\n", "s1:a", "t0:", "[]", "x" * 300]


def number():
    kind = draw.random()
    if kind < 0.7:
        return draw.choice(NUMBERS)
    if kind < 0.8:
        return draw.getrandbits(draw.choice([8, 31, 32, 64, 200, 900])) * draw.choice([1, -1])
    if kind < 0.9:
        return float(draw.randrange(-5, 5))
    return draw.choice([draw.uniform(-2, 2), draw.random() * 10 ** draw.randrange(-300, 300)])


def scalar():
    kind = draw.random()
    if kind < 0.02:
        return float("nan")
    if kind < 0.55:
        return number()
    return None if kind < 0.65 else draw.choice(TEXTS)


def items(make, depth, most=4):
    return [make(depth - 1) for _ in range(draw.randrange(most))]


def hashable(depth):
    kind = draw.random()
    if depth <= 0 or kind < 0.5:
        return scalar()
    return tuple(items(hashable, depth)) if kind < 0.75 else frozenset(items(hashable, depth))


def value(depth):
    kind = draw.random()
    if depth <= 0 or kind < 0.2:
        return scalar()
    if kind < 0.4:
        return items(value, depth)
    if kind < 0.55:
        return tuple(items(value, depth))
    if kind < 0.7:
        return set(items(hashable, depth))
    if kind < 0.8:
        return frozenset(items(hashable, depth))
    return {key: value(depth - 1) for key in items(hashable, depth)}


def other_number(item):
    """A number that is equal, or nearly so."""
    forms = [item, draw.choice(NUMBERS)]
    if item == item and abs(item) != float("inf"):
        forms += [int(item), -item, item + 1]
        if abs(item) < 10**300:
            forms += [float(item), float(item), complex(item)]
        if item in (0, 1):
            forms += [bool(item), bool(item)]
    return draw.choice(forms)


def shuffled(sequence):
    sequence = list(sequence)
    draw.shuffle(sequence)
    return sequence


def varied(item, chance, frozen=False):
    """A copy in which some parts are others, many of them equal."""
    if draw.random() < chance:
        kind = draw.random()
        if kind < 0.2:
            return hashable(1) if frozen else value(1)
        if kind < 0.4 and isinstance(item, (list, tuple, set, frozenset)):
            make = draw.choice([tuple, frozenset] if frozen else [list, tuple, set, frozenset])
            try:
                return make(item)
            except TypeError:
                return item
        if isinstance(item, (int, float)):
            return other_number(item)
    if isinstance(item, list):
        return [varied(part, chance) for part in item]
    if isinstance(item, tuple):
        return tuple(varied(part, chance, frozen) for part in item)
    if isinstance(item, (set, frozenset)):
        return draw.choice([frozenset] if frozen else [type(item), set, frozenset])(varied(part, chance, True) for part in shuffled(item))
    if isinstance(item, dict):
        return {varied(key, chance, True): varied(part, chance) for key, part in shuffled(item.items())}
    return item


def deep(depth):
    """One value in many wrappings, of the kinds that can be hashed, as the key of a dict."""
    item = draw.choice([(), frozenset(), "", 0])
    for level in range(depth):
        item = draw.choice([(item,), (item, 1)])
        # Python takes twice the time for each set around a set, because it sorts the written items.
        if level % 5 == 0:
            item = draw.choice([frozenset([item]), frozenset([item, 1])])
    return {item: 1}


class Node:
    def __init__(self, val):
        self.val, self.left, self.right = val, None, None


def tree_node(values):
    if not values:
        return None
    root = Node(values[0])
    queue, at = deque([root]), 1
    while queue:
        node = queue.popleft()
        for side in ("left", "right"):
            if at < len(values) and values[at] is not None:
                setattr(node, side, Node(values[at]))
                queue.append(getattr(node, side))
            at += 1
    return root


def is_same_tree(p, q):
    if not p or not q:
        return not p and not q
    return p.val == q.val and is_same_tree(p.left, q.left) and is_same_tree(p.right, q.right)


def change_tree(root):
    """Gives some nodes the value None, and some a child of it."""
    queue = deque([root])
    while queue:
        node = queue.popleft()
        if node is None:
            continue
        if draw.random() < 0.05:
            node.val = None
        if draw.random() < 0.05:
            setattr(node, draw.choice(["left", "right"]), Node(draw.choice([None, 1])))
        queue += [node.left, node.right]
    return root


def tree_pair():
    values = [draw.choice([None, 1, 1, 2, 1.0, True, "a", (), 0]) for _ in range(draw.randrange(9))]
    other = [other_number(v) if isinstance(v, (int, float)) and draw.random() < 0.2 else v for v in values]
    other += [None] * draw.choice([0, 0, 1, 2])
    if draw.random() < 0.2:
        other += [1]
    tree = tree_node(other)
    if draw.random() < 0.4:
        tree = change_tree(tree)
    return b"t", is_same_tree(tree_node(values), tree), values, shapes.flatten("tree", tree), repr(values)


def holds_nan(item):
    return "nan" in repr(item)


def plain_pair():
    kind = draw.random()
    first = deep(draw.randrange(1, 40)) if kind < 0.02 else value(draw.randrange(4))
    second = value(2) if draw.random() < 0.1 else varied(first, draw.choice([0, 0.02, 0.1, 0.3]))
    # Read back, so that no part of one is a part of the other: Python takes a thing for equal to itself.
    left, right = (marshal.loads(marshal.dumps(item, 2)) for item in (first, second))
    return b"p", left == right, first, second, "" if holds_nan(first) or "inf" in repr(first) else repr(first)


def part(data):
    return struct.pack("<I", len(data)) + data


for _ in range(int(sys.argv[2])):
    kind, answer, expected, given, literal = tree_pair() if draw.random() < 0.15 else plain_pair()
    sys.stdout.buffer.write(kind + (b"1" if answer else b"0") + part(marshal.dumps(expected, 2)) + part(marshal.dumps(given, 2))
                            + part(literal.encode("utf-8", "backslashreplace")))
