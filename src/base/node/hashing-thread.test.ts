import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sha256 } from './hash.ts';
import { HashingThread } from './hashing-thread.ts';
import { scratchFolder } from './scratch.ts';

test('the thread writes the pieces in their order and hashes what it writes; parts of arrays are copied', async () => {
  using folder = scratchFolder('hashing');
  const path = join(folder.path, 'file');
  const descriptor = openSync(path, 'w');
  const [whole, long] = [Uint8Array.from([1, 2, 3]), Uint8Array.from([9, 4, 5, 9])];
  {
    await using thread = new HashingThread(descriptor);
    thread.write(whole);
    thread.write(long.subarray(1, 3));
    thread.write(new Uint8Array());
    expect(await thread.digest()).toBe(sha256(Uint8Array.from([1, 2, 3, 4, 5])));
  }
  closeSync(descriptor);
  expect([...readFileSync(path)]).toEqual([1, 2, 3, 4, 5]);
  expect([whole.length, [...long]]).toEqual([0, [9, 4, 5, 9]]);
});

test('a write that fails is told as the system told it', async () => {
  using folder = scratchFolder('hashing');
  const path = join(folder.path, 'file');
  closeSync(openSync(path, 'w'));
  const descriptor = openSync(path, 'r');
  await using thread = new HashingThread(descriptor);
  thread.write(Uint8Array.from([1]));
  await expect(thread.digest()).rejects.toMatchObject({ code: 'EBADF', syscall: 'write' });
  closeSync(descriptor);
});
