import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sha256 } from './hash.ts';
import { keptHash } from './kept-hash.ts';

let home = '';
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'gq-kept-'));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const later = () => Date.now() + 60_000;

it('reads a file once, and again when it has changed', async () => {
  const [path, folder] = [join(home, 'weights'), join(home, 'hashes')];
  const options = { folder, leastBytes: 1, now: later };
  writeFileSync(path, 'one');
  expect(await keptHash(path, options)).toBe(sha256('one'));
  // What is kept is what is answered: the file itself is not looked into.
  const [kept] = readdirSync(folder);
  writeFileSync(join(folder, kept), `${sha256('planted')}\n`);
  expect(await keptHash(path, options)).toBe(sha256('planted'));
  writeFileSync(path, 'two and more');
  expect(await keptHash(path, options)).toBe(sha256('two and more'));
});

it('keeps nothing about a file that is fresh or small, and reads a kept hash that is damaged anew', async () => {
  const [path, folder] = [join(home, 'fresh'), join(home, 'none')];
  writeFileSync(path, 'one');
  expect(await keptHash(path, { folder, leastBytes: 1 })).toBe(sha256('one'));
  expect(await keptHash(path, { folder, leastBytes: 4, now: later })).toBe(sha256('one'));
  expect(() => readdirSync(folder)).toThrow('ENOENT');
  await keptHash(path, { folder, leastBytes: 1, now: later });
  writeFileSync(join(folder, readdirSync(folder)[0]), 'half a ha');
  expect(await keptHash(path, { folder, leastBytes: 1, now: later })).toBe(sha256('one'));
});

it('needs no cache: where none can be written, the file is read every time', async () => {
  const [path, taken] = [join(home, 'alone'), join(home, 'a file, no folder')];
  writeFileSync(path, 'one');
  writeFileSync(taken, '');
  const options = { folder: join(taken, 'hashes'), leastBytes: 1, now: later };
  expect(await keptHash(path, options)).toBe(sha256('one'));
  expect(await keptHash(path, options)).toBe(sha256('one'));
});

it('reads the file where what is kept cannot be read', async () => {
  const [path, folder] = [join(home, 'unreadable'), join(home, 'unreadable hashes')];
  const options = { folder, leastBytes: 1, now: later };
  writeFileSync(path, 'one');
  await keptHash(path, options);
  const kept = join(folder, readdirSync(folder)[0]);
  rmSync(kept);
  mkdirSync(kept);
  expect(await keptHash(path, options)).toBe(sha256('one'));
});
