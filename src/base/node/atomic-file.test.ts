import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { replaceFile, writeFileAtomic } from './atomic-file.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'atomic-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('writeFileAtomic', () => {
  it('writes strings and bytes, and replaces what was there', async () => {
    const path = join(folder, 'file');
    await writeFileAtomic(path, 'a long first version');
    await writeFileAtomic(path, Uint8Array.of(1, 2, 3));
    expect([...(await readFile(path))]).toEqual([1, 2, 3]);
    expect(await readdir(folder)).toEqual(['file']);
  });

  it('gives the name a new file: a reader of the old one keeps a whole file', async () => {
    const path = join(folder, 'file');
    await writeFileAtomic(path, 'old');
    const before = await stat(path);
    await writeFileAtomic(path, 'new');
    expect((await stat(path)).ino).not.toBe(before.ino);
  });

  it('leaves the old file, and nothing else, when writing fails', async () => {
    const path = join(folder, 'file');
    await writeFileAtomic(path, 'old');
    const failing = replaceFile(path, async (file) => {
      await file.writeFile('half of the ne');
      throw new Error('disk full');
    });
    await expect(failing).rejects.toThrow('disk full');
    expect(await readFile(path, 'utf8')).toBe('old');
    expect(await readdir(folder)).toEqual(['file']);
  });

  it('lets concurrent writers of one name each write a whole file', async () => {
    const path = join(folder, 'file');
    const texts = Array.from({ length: 20 }, (_, index) => `${index}`.repeat(10_000));
    await Promise.all(texts.map((text) => writeFileAtomic(path, text)));
    expect(texts).toContain(await readFile(path, 'utf8'));
    expect(await readdir(folder)).toEqual(['file']);
  });
});

it('removes what is being written when the process ends, and only then listens for its end', async () => {
  const before = process.listeners('exit');
  const path = join(folder, 'file');
  let seen: string[] = [];
  await replaceFile(path, async (file) => {
    await file.writeFile('half');
    for (const listener of process.listeners('exit').filter((each) => !before.includes(each))) {
      Reflect.apply(listener, process, [75]);
    }
    seen = await readdir(folder);
  }).catch(() => undefined);
  expect(seen).toEqual([]);
  expect(process.listeners('exit')).toEqual(before);
});
