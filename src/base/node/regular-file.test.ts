/** Files of strangers: what waits, what leads elsewhere, and what is what it says. */
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { replaceFile } from './atomic-file.ts';
import { sha256File } from './hash.ts';
import { JsonlWriter, readJsonl } from './jsonl.ts';
import { makeOwnFolder, openHandle, openToWrite, readRegular, streamRegular, writeNew } from './regular-file.ts';
import { systemComplaint } from './system-error.ts';

const home = mkdtempSync(join(tmpdir(), 'gq-regular-'));
const at = (name: string): string => join(home, name);
const server = createServer();

beforeAll(async () => {
  execFileSync('mkfifo', [at('pipe')]);
  symlinkSync('/dev/zero', at('device'));
  mkdirSync(at('folder'));
  writeFileSync(at('file'), 'whole\nhalf');
  symlinkSync(at('file'), at('link'));
  symlinkSync(at('folder'), at('linked-folder'));
  linkSync(at('file'), at('second-name'));
  await new Promise<void>((resolve) => server.listen(at('socket'), resolve));
});
afterAll(() => {
  server.close();
  rmSync(home, { recursive: true, force: true });
});

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

const waiting = [
  ['pipe', 'a named pipe'],
  ['device', 'a device'],
  ['socket', 'a socket or a device'],
] as const;

describe('a reader', () => {
  it.each(waiting)('refuses a %s at once, by every way to open one', async (name, kind) => {
    const words = `${kind} where a regular file must be`;
    expect(systemComplaint(thrownBy(() => readRegular(at(name))))).toMatchObject({ found: words });
    expect(() => streamRegular(at(name))).toThrow(words);
    await expect(openHandle(at(name))).rejects.toThrow(words);
    await expect(sha256File(at(name))).rejects.toThrow(words);
    await expect(readJsonl(at(name)).next()).rejects.toThrow(words);
  });

  it('calls a folder one, follows links to files, and names what is missing', async () => {
    expect(systemComplaint(thrownBy(() => readRegular(at('folder'))))?.found).toBe('a folder where a file must be');
    expect(readRegular(at('link')).toString()).toBe('whole\nhalf');
    expect(thrownBy(() => readRegular(at('none')))).toMatchObject({ code: 'ENOENT' });
    await expect(openHandle(at('none'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('a writer', () => {
  it.each([
    waiting[0],
    waiting[2],
    ['device', 'a link'],
    ['link', 'a link'],
    ['second-name', 'a file with 2 names (hard links)'],
  ] as const)('refuses a %s', (name, kind) => {
    for (const mode of ['append', 'change'] as const) {
      expect(() => openToWrite(at(name), mode)).toThrow(`${kind} where a regular file must be`);
    }
    expect(() => new JsonlWriter(at(name))).toThrow('where a regular file must be');
    expect(() => writeNew(at(name), '')).toThrow();
    expect(readFileSync(at('file'), 'utf8')).toBe('whole\nhalf');
  });

  it('of a whole file takes the name from a link, and leaves what it led to', async () => {
    symlinkSync(at('file'), at('replaced'));
    await replaceFile(at('replaced'), (file) => file.writeFile('new'));
    expect([readFileSync(at('replaced'), 'utf8'), readFileSync(at('file'), 'utf8')]).toEqual(['new', 'whole\nhalf']);
  });

  it('makes no files in a folder that is a link', () => {
    expect(() => makeOwnFolder(at('linked-folder'))).toThrow('a link where a folder must be');
    makeOwnFolder(at('folder'));
    makeOwnFolder(join(at('made'), 'below'));
  });
});
