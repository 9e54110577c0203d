import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { isPassing, makeFolder, namePath, systemComplaint } from './system-error.ts';

const home = mkdtempSync(join(tmpdir(), 'gq-system-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('systemComplaint', () => {
  it('names the path and what to do', () => {
    const path = join(home, 'absent', 'file');
    const complaint = systemComplaint(thrownBy(() => readFileSync(path)));
    expect(complaint?.call).toContain(path);
    expect(complaint?.fix).toBeDefined();
  });

  it.each(['EROFS', 'EEXIST', 'ENOTDIR', 'EISDIR', 'ENOSPC', 'EACCES', 'EPERM', 'ENOENT', 'EMFILE', 'EIO', 'EDQUOT'])(
    'has words for %s',
    (code) => {
      const error = Object.assign(new Error(`${code}: words of the system, open 'x'`), {
        code,
        syscall: 'open',
        path: 'x/y',
      });
      const complaint = systemComplaint(error);
      expect(complaint?.call).toContain('x/y');
      expect(complaint?.found).not.toContain(code);
      expect(complaint?.fix).toMatch(/\.$/);
    },
  );

  it('takes a code without words of its own as it comes, and leaves other errors alone', () => {
    const strange = Object.assign(new Error('EHOSTDOWN: host is down'), { code: 'EHOSTDOWN', syscall: 'read' });
    expect(systemComplaint(strange)?.found).toContain('host is down');
    expect(systemComplaint(new RangeError('ours'))).toBeNull();
    expect(systemComplaint(Object.assign(new Error('x'), { code: 'ERR_ASSERTION' }))).toBeNull();
  });

  it('finds the error of the system inside those that wrap it', () => {
    const inner = thrownBy(() => readFileSync(join(home, 'absent')));
    expect(systemComplaint(new Error('outer', { cause: inner }))?.call).toContain('absent');
    expect(
      systemComplaint(Object.assign(new Error('x'), { error: new Error('end'), suppressed: inner })),
    ).not.toBeNull();
  });

  it('tells troubles of the machine, which may pass, from wrong paths', () => {
    const full = Object.assign(new Error('no space'), { code: 'ENOSPC', syscall: 'write' });
    expect(isPassing(new Error('save', { cause: full }))).toBe(true);
    expect(isPassing(thrownBy(() => readFileSync(join(home, 'absent'))))).toBe(false);
  });

  it('gives an error of a descriptor the path of its file', () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), {
      code: 'ENOSPC',
      syscall: 'write',
    });
    expect(systemComplaint(namePath(full, join(home, 'ledger')))?.call).toContain('ledger');
  });

  it('names the file that a full disk stopped', () => {
    const full = openSync('/dev/full', 'w');
    const complaint = systemComplaint(
      namePath(
        thrownBy(() => writeSync(full, 'x')),
        '/dev/full',
      ),
    );
    closeSync(full);
    expect(complaint?.call).toContain('/dev/full');
    expect(complaint?.found).toMatch(/space/);
  });
});

describe('makeFolder', () => {
  it('makes what is missing, and leaves what is there', () => {
    makeFolder(join(home, 'a', 'b', 'c'));
    makeFolder(join(home, 'a', 'b', 'c'));
    writeFileSync(join(home, 'a', 'b', 'c', 'file'), '');
    expect(systemComplaint(thrownBy(() => makeFolder(join(home, 'a', 'b', 'c', 'file', 'd'))))?.call).toContain('file');
  });

  it('ends where a folder cannot be made', () => {
    expect(systemComplaint(thrownBy(() => makeFolder('/proc/gq-x/y')))?.call).toContain('/proc/gq-x');
  });
});
