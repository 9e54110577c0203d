/**
 * Expected lists and trees in the form in which sandbox/shapes.py reads them back from a program. A tree is a pair: which
 * places in level order have a node, as "1" and "0" without the last zeros, and the values of the nodes. A node whose value
 * is None is so told from no node. A linked list is the list of its values.
 */
import type { TestCase } from './problem.ts';
import { PythonTuple, type PythonValue } from './python-value.ts';

/** What tree_node() of the setup code builds: the first value is the root, None is no node, values without a parent are ignored. */
function treeForm(values: readonly PythonValue[]): PythonTuple {
  const nodes: PythonValue[] = values.slice(0, 1);
  const marks = nodes.map(() => '1');
  for (let parent = 0, at = 1; parent < nodes.length && at < values.length; parent += 1) {
    for (const value of values.slice(at, at + 2)) {
      marks.push(value === null ? '0' : '1');
      if (value !== null) nodes.push(value);
    }
    at += 2;
  }
  return new PythonTuple([marks.slice(0, marks.lastIndexOf('1') + 1).join(''), nodes]);
}

/** The value that a right program gives back for the test. */
export function expectedForm({ shape, expected }: TestCase): PythonValue {
  if (shape === 'plain') return expected;
  // The builders make nothing of None, as they do of an empty list.
  const values = Array.isArray(expected) ? (expected as readonly PythonValue[]) : expected === null ? [] : undefined;
  if (values === undefined) throw new TypeError(`a ${shape} that is not given as a list`);
  return shape === 'tree' ? treeForm(values) : values;
}
