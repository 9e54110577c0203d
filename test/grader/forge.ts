/**
 * Programs that ask the trusted side forged questions: their test function takes the harness's nonce, says that the stage of the
 * canonical solution has begun, and writes what it likes in place of a question.
 */
const forger = `
import os, sys, marshal
harness = sys.modules['harness']
def size(n): return n.to_bytes(4, 'little')
def ask(payload): harness.write_all(harness.record(b'k', payload))
def question(value, keywords=b'{0', builders=b'[' + size(0)): return b'(' + size(3) + b'[' + size(1) + value + keywords + builders
# All have one hash: Python's modulus of ints. Written as a list, sent as what it is not, since making the set takes as long as reading it.
same_hash = marshal.dumps([k * (2 ** 61 - 1) for k in range(1, 55_000)], 2)[1:]
as_keys = b'{' + b''.join(marshal.dumps(k * (2 ** 61 - 1), 2) + b'N' for k in range(1, 50_000)) + b'0'
`;

const wrong = 'class Solution:\n    def solve(self, n): return 999\n';

/** A wrong program whose test function runs these lines in the stage of the canonical solution. */
export function asking(lines: readonly string[]): string {
  const body = ["harness.write_all(harness.record(b'b', b'c'))", ...lines].map((line) => `    ${line}\n`).join('');
  return `${forger}${wrong}def run_tests():\n${body}`;
}

/** Ask once, wait for the answer, and end as if the test had passed. */
function once(payload: string): string {
  return asking([`ask(${payload})`, 'harness.read_frame()', 'os._exit(0)']);
}

export const forgedQuestions: Readonly<Record<string, string>> = {
  'a set of equal hashes': once("question(b'<' + same_hash)"),
  'a frozenset of equal hashes in a tuple': once("question(b'(' + size(1) + b'>' + same_hash)"),
  'keys of equal hashes': once('question(as_keys)'),
  'equal hashes in a keyword': once("question(b'N', b'{' + marshal.dumps('n', 2) + b'<' + same_hash + b'0')"),
  'lists in lists': once("question((b'[' + size(1)) * 1900 + b'N')"),
  'tuples in tuples as a key': once("question(b'{' + (b'(' + size(1)) * 1900 + b'NN0')"),
  'frozensets in frozensets': once("question((b'>' + size(1)) * 190 + b'N')"),
  'many empty sets': once("question(b'[' + size(200_000) + (b'<' + size(0)) * 200_000)"),
  'many empty lists': once("question(b'[' + size(200_000) + (b'[' + size(0)) * 200_000)"),
  'a giant int': once('question(marshal.dumps(1 << 7_000_000, 2))'),
  'many large ints': once('question(marshal.dumps([1 << 70_000] * 100, 2))'),
  'a long text': once("question(marshal.dumps('x' * 1_000_000, 2))"),
  'a long text of surrogates': once("question(marshal.dumps('\\ud800' * 300_000, 2))"),
  'a count that is a lie': once("question(b'[' + size((1 << 31) - 1) + b'N')"),
  'a negative count': once("question(b'[' + b'\\xff' * 4)"),
  'a code object': once('question(marshal.dumps((lambda: 1).__code__, 2))'),
  'a reference': once("question(b'r' + size(0))"),
  'an int with digits that are none': once("question(b'l' + size(2) + b'\\xff' * 4)"),
  'many builders': once("question(b'N', builders=marshal.dumps([('list', [0])] * 40_000, 2))"),
  'a long path': once("question(b'N', builders=marshal.dumps([('tree', [0] * 100_000)], 2))"),
  'a builder of nothing': once("question(b'N', builders=marshal.dumps([('heap', [0])], 2))"),
  'a keyword that is no text': once("question(b'N', b'{NN0')"),
  'no bytes at all': once("b''"),
  'bytes that are no value': once("b'\\xff' * 100_000"),
  'more than a program may report': once("question(marshal.dumps('x' * 3_000_000, 2))"),
  'an argument that makes a giant answer': once("question(marshal.dumps('x' * 900_000, 2))"),
};

/** Ask what has not been asked before, one question after the other, until there is no answer; and many questions at once. */
export const questionFlooders: Readonly<Record<string, string>> = {
  'questions without end': asking([
    'for n in range(10 ** 9): ask(question(marshal.dumps(n, 2))); harness.read_frame()',
  ]),
  'questions at once': asking(['for n in range(1000): ask(question(marshal.dumps(-n, 2)))', 'os._exit(0)']),
  'questions that nobody waits for': asking(['ask(question(marshal.dumps(10 ** 9, 2)))', 'os._exit(0)']),
};
