/** One folder for everything a test run writes, removed at its end; in memory where there is room for it. */
import { accessSync, chmodSync, constants, mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
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

/** Removes what test runs left behind that were killed more than a day ago: in memory it would stay until the machine stops. */
function removeOld(parent: string): void {
  const dayAgo = Date.now() - 86_400_000;
  const names = readdirSync(parent).filter((name) => name.startsWith(prefix));
  for (const path of names.map((name) => join(parent, name))) {
    const { mtimeMs = dayAgo } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (mtimeMs < dayAgo) rmSync(path, { recursive: true, force: true });
  }
}

const prefix = 'gq-tests-';
const parent = parentFolder();
if (parent === inMemory) removeOld(parent);
const folder = mkdtempSync(join(parent, prefix));
// Graded programs run as another user where root starts them: they must reach their own folder within this one.
chmodSync(folder, 0o711);

export function setup(): void {
  process.env['TMPDIR'] = folder;
  process.env['GQ_CACHE'] = join(folder, 'cache');
  process.env['GQ_STATE'] = join(folder, 'state');
  process.env['GQ_TEST_FOLDER'] = folder;
}

export function teardown(): void {
  rmSync(folder, { recursive: true, force: true });
}
