/** Sandboxes that serve one borrower after another, while they are kept. */
import { expect, it } from 'vitest';
import { runRaw } from '../../test/grader/fixtures.ts';
import type { Sandbox } from '../env/sandbox/index.ts';
import { SandboxShelf } from './judge.ts';

const options = { workers: 1, strictLevel: 0 } as const;

async function borrowOnce(shelf: SandboxShelf): Promise<Sandbox> {
  await using borrowed = await shelf.borrow(options);
  return borrowed.sandbox;
}

it('one that was given back serves the next, alone, until nobody keeps it any more', async () => {
  const shelf = new SandboxShelf();
  const keepers = [shelf.keep(), shelf.keep()];
  const first = await borrowOnce(shelf);
  await keepers[0][Symbol.asyncDispose]();
  {
    await using again = await shelf.borrow(options);
    expect(again.sandbox).toBe(first);
    await using beside = await shelf.borrow(options);
    expect(beside.sandbox).not.toBe(first);
    expect((await runRaw(first, 'class Solution:\n    pass')).ending.exit).toBe(0);
  }
  await keepers[1][Symbol.asyncDispose]();
  await expect(runRaw(first, '')).rejects.toThrow(/an open sandbox, found closed/);
});

it('one that is given back in the middle of a program is closed, and the program ends', async () => {
  const shelf = new SandboxShelf();
  await using _kept = shelf.keep();
  let running: Promise<unknown>;
  {
    await using borrowed = await shelf.borrow(options);
    running = expect(runRaw(borrowed.sandbox, 'while True: pass')).rejects.toThrow(/sandbox worker/);
    expect(borrowed.sandbox.isIdle).toBe(false);
  }
  await running;
});

it('programs that wait for a worker of a sandbox that is closed are refused, and start none', async () => {
  const shelf = new SandboxShelf();
  const borrowed = await shelf.borrow(options);
  const running = expect(runRaw(borrowed.sandbox, 'while True: pass')).rejects.toThrow(/sandbox worker/);
  const waiting = expect(runRaw(borrowed.sandbox, 'while True: pass')).rejects.toThrow(/an open sandbox, found closed/);
  await borrowed[Symbol.asyncDispose]();
  await Promise.all([running, waiting]);
});
