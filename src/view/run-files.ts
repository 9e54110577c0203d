/** The files of a run's rollouts as pages read them: what they are called and how long they are, and parts of their bytes. */
import { closeSync, fstatSync, lstatSync, readSync, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { UserError } from '../base/index.ts';
import { HttpProblem, openToRead, sendAnswer } from '../base/node/index.ts';
import { expectOpen, RunDirectory } from '../run/index.ts';
import type { RunFile, RunFiles } from './api.ts';
import { safeHeaders } from './safety.ts';

export function runFiles(run: RunDirectory, address: (name: string) => string): RunFiles {
  const isSealed = run.isSealed();
  const file = (table: string): RunFile => {
    const name = `${table}.${isSealed ? 'parquet' : 'jsonl'}`;
    return { name: address(name), bytes: statSync(run.file(name)).size };
  };
  // While a run is trained, a verdict is written before its rollout: measured in this order, none is missing.
  const rollouts = file('rollouts');
  return { isSealed, rollouts, verdicts: file('verdicts') };
}

export function pathOfFile(path: string, name: string): string {
  if (!/^(?:rollouts|verdicts)\.(?:parquet|jsonl)$/.test(name)) {
    throw new UserError({ call: `view ${name}`, expected: 'a file of rollouts or verdicts', found: 'another' });
  }
  expectOpen(path, `view ${name} of ${path}`);
  const file = RunDirectory.open(path).file(name);
  if (lstatSync(file).isSymbolicLink()) {
    throw new UserError({ call: `view ${name} of ${path}`, expected: 'a file of the run', found: 'a link' });
  }
  return file;
}

const largestPart = 2 ** 28;

export function sendFile(request: IncomingMessage, response: ServerResponse, path: string): void {
  const file = openToRead(path);
  try {
    const { size } = fstatSync(file);
    const range = rangeOf(request.headers.range, size);
    const { from, to } = range ?? { from: 0, to: size };
    if (to - from > largestPart) throw new HttpProblem(416, `ask for at most ${largestPart} bytes at once.`);
    const body = Buffer.alloc(to - from);
    const read = readSync(file, body, 0, body.length, from);
    const headers = { ...safeHeaders, 'accept-ranges': 'bytes' };
    sendAnswer(response, {
      status: range === null ? 200 : 206,
      type: 'application/octet-stream',
      body: body.subarray(0, read),
      headers: range === null ? headers : { ...headers, 'content-range': `bytes ${from}-${to - 1}/${size}` },
    });
  } finally {
    closeSync(file);
  }
}

function rangeOf(header: string | undefined, size: number): { from: number; to: number } | null {
  if (header === undefined) return null;
  const [, first = '', last = ''] = /^bytes=(\d+)-(\d*)$/.exec(header) ?? [];
  const from = Number(first);
  const to = last === '' ? size : Math.min(size, Number(last) + 1);
  if (first === '' || from >= to) throw new HttpProblem(416, `the file has ${size} bytes, and not those: ${header}.`);
  return { from, to };
}
