/** One folder for everything a test run writes, removed at its end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'gq-tests-'));

export function setup(): void {
  process.env['TMPDIR'] = folder;
  process.env['GQ_CACHE'] = join(folder, 'cache');
}

export function teardown(): void {
  rmSync(folder, { recursive: true, force: true });
}
