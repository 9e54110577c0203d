/** One folder for everything a test run writes, removed at its end; in memory where there is room for it. */
import { accessSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Linux keeps these files in memory. Runs flush what they write thousands of times, and each time a disk takes milliseconds. */
const inMemory = '/dev/shm';
const enoughBytes = 4 * 2 ** 30;

/** A folder that was asked for is used. */
function parentFolder(): string {
  if (process.env['TMPDIR'] !== undefined) return tmpdir();
  try {
    accessSync(inMemory, constants.W_OK);
    const { bavail, bsize } = statfsSync(inMemory);
    return bavail * bsize >= enoughBytes ? inMemory : tmpdir();
  } catch {
    return tmpdir();
  }
}

const folder = mkdtempSync(join(parentFolder(), 'gq-tests-'));

export function setup(): void {
  process.env['TMPDIR'] = folder;
  process.env['GQ_CACHE'] = join(folder, 'cache');
  process.env['GQ_TEST_FOLDER'] = folder;
}

export function teardown(): void {
  rmSync(folder, { recursive: true, force: true });
}
