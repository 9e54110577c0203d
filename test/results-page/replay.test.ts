/** A sealed run is trained again by bench/replay.ts, and what differs is named. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseRunConfig, resolveBuiltin, train } from '../../src/lab/index.ts';
import { stampedJson } from '../../src/run/index.ts';
import { temporaryFolder } from '../lab/hand-made.ts';
import { tinyModel, tinySettings } from '../smoke/lab.ts';
import { root } from './rates.ts';

/** By the Node that the package brings: an older one does not run TypeScript. */
const node = join(root, 'node_modules/node/bin/node');
const replay = (what: string) => spawnSync(node, ['bench/replay.ts', what], { cwd: root, encoding: 'utf8' });

it('a run directory is replayed to the same bytes, and another seal is told', async () => {
  const path = join(temporaryFolder(), 'vanilla-1');
  const settings = [...tinySettings, `model=${await tinyModel()}`, 'updates=2', 'seed=1', 'arm.kind=vanilla'];
  await train(await parseRunConfig(resolveBuiltin(null, settings).config), path);
  const same = replay(path);
  expect(same.stdout).toContain('replayed: the same bytes');
  expect(same.status).toBe(0);
  const { checksum: _checksum, ...seal } = JSON.parse(readFileSync(join(path, 'seal.json'), 'utf8'));
  const files = { ...seal.files, 'events.jsonl': '0'.repeat(64) };
  writeFileSync(join(path, 'seal.json'), stampedJson({ ...seal, files }));
  const other = replay(path);
  expect(other.stdout).toMatch(/DIFFERS {2}events/);
  expect(other.stdout).toMatch(/equal {4}rollouts/);
  expect(other.status).toBe(1);
});

it('a run that has no seal in the CSV is refused by its name', () => {
  expect(replay('atlas-c/vanilla-1').stderr).toContain('no seal of atlas-c/vanilla-1');
});
