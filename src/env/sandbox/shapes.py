"""Linked lists and trees: built from plain lists before a call, flattened to plain lists after it.

A test such as `is_same_tree(candidate(root = tree_node([1, None, 2])), tree_node([2]))` becomes a call whose argument is
built here, and whose result is read back, node by node, as a plain list that the trusted side compares by value.
"""
LARGEST_SHAPE = 200_000
BUILDERS = {"list": "list_node", "tree": "tree_node"}


def build(namespace, arguments, keywords, builders):
    """Replaces the value at each path by the list or tree that the setup code builds from it."""
    for kind, path in builders:
        holder = arguments if isinstance(path[0], int) else keywords
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = namespace[BUILDERS[kind]](holder[path[-1]])


def flatten_list(node):
    values = []
    while node is not None:
        values.append(node.val)
        node = node.next
        if len(values) > LARGEST_SHAPE:
            raise ValueError("endless list")
    return values


def flatten_tree(root):
    """Which places in level order have a node, and the values of the nodes: one whose value is None is a node too."""
    marks, values, row = [], [], [root]
    while row:
        nodes = [node for node in row if node is not None]
        marks += ["0" if node is None else "1" for node in row]
        values += [node.val for node in nodes]
        row = [child for node in nodes for child in (node.left, node.right)]
        if len(marks) > LARGEST_SHAPE:
            raise ValueError("endless tree")
    return "".join(marks).rstrip("0"), values


def flatten(shape, value):
    if shape == "list":
        return flatten_list(value)
    if shape == "tree":
        return flatten_tree(value)
    return value
