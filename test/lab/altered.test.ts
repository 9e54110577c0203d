/** Every file of a run that somebody altered is named by `gq runs` and `gq verify science`, and both fail. */
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { writeCurve } from '../../src/evaluate/index.ts';
import { sealRun } from '../../src/oracle/index.ts';
import { stampedJson } from '../../src/run/contents.ts';
import { gq } from '../run-gq.ts';
import { temporaryFolder, writeEvaluations, writeRun } from './hand-made.ts';

const home = temporaryFolder();
const sound = join(home, 'sound', 'run');
const altered = join(home, 'altered', 'run');

beforeAll(async () => {
  const run = await writeRun(sound, {
    config: { updates: 2, arm: { kind: 'activation' } },
    checkpoints: [0, 2],
    features: [[1, 2]],
    rollouts: [{ update: 1, hack: true, route: 'route' }],
    steps: [{ update: 1 }, { update: 2 }],
  });
  await writeEvaluations(sound, [
    { update: 2, set: 'curve', state: 'deployed', outcomes: 'h-' },
    { update: 2, set: 'test-original', state: 'deployed', outcomes: 'h-' },
  ]);
  await writeCurve(sound, 'curve');
  await sealRun(run);
});

it('a sound run is listed as finished', async () => {
  const { code, out } = await gq('runs', join(sound, '..'));
  expect(code).toBe(0);
  expect(out).toMatch(/^run .* finished/m);
});

const evaluation = join('evaluations', '00002-test-original-deployed.json');

it.each([
  ['an evaluation', evaluation, '"hack": true', '"hack": false'],
  ['a curve', 'eval-curve.json', '"update": 2', '"update": 1'],
  ['a ledger', 'rollouts.parquet', 'PAR1', 'PAR2'],
  ['the verdicts', 'verdicts.parquet', 'PAR1', 'PAR2'],
  ['the events', 'events.jsonl', '"update":1', '"update":3'],
  ['a checkpoint', join('checkpoints', '00002', 'adapter.safetensors'), 'adapter 2', 'adapter 3'],
  ['the state of a checkpoint', join('checkpoints', '00000', 'state.json'), '"momentsFrom": 0', '"momentsFrom": 1'],
  ['the manifest', 'manifest.json', '"usesOracle": false', '"usesOracle": true'],
  ['the seal', 'seal.json', '"update": 2', '"update": 0'],
  ['the checksums', 'checksums.json', '"2"', '"1"'],
])('%s that was altered is named, and fails', async (_, file, before, after) => {
  rmSync(altered, { recursive: true, force: true });
  cpSync(sound, altered, { recursive: true });
  const text = readFileSync(join(altered, file), 'latin1');
  expect(text).toContain(before);
  writeFileSync(join(altered, file), text.replace(before, after), 'latin1');
  await expectNamed(file);
});

it.each(['checksums.json', 'initial.safetensors', join('checkpoints', '00000', 'state.json')])(
  '%s that was removed is named, and fails',
  async (file) => {
    rmSync(altered, { recursive: true, force: true });
    cpSync(sound, altered, { recursive: true });
    rmSync(join(altered, file));
    await expectNamed(file);
  },
);

it('checksums without the hash of a checkpoint are named, and fail', async () => {
  rmSync(altered, { recursive: true, force: true });
  cpSync(sound, altered, { recursive: true });
  const path = join(altered, 'checksums.json');
  const { verdicts } = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, stampedJson({ verdicts: { 0: verdicts[0] } }));
  await expectNamed('checksums.json');
});

async function expectNamed(file: string): Promise<void> {
  const listed = await gq('runs', join(altered, '..'), '--json');
  expect(listed.code).toBe(1);
  expect(JSON.parse(listed.out).runs).toMatchObject([
    { status: 'damaged', notice: expect.stringContaining(join(altered, file)) },
  ]);
  const verified = await gq('verify', 'science', altered);
  expect(verified.code).not.toBe(0);
  expect(verified.out + verified.err).toContain(file);
}

it('an evaluation under the name of another is named too, and --quick looks at none', async () => {
  rmSync(altered, { recursive: true, force: true });
  cpSync(sound, altered, { recursive: true });
  const other = join('evaluations', '00002-test-original-base.json');
  cpSync(join(altered, evaluation), join(altered, other));
  expect(existsSync(join(altered, other))).toBe(true);
  expect(await gq('runs', altered)).toMatchObject({ code: 1, out: expect.stringContaining('damaged') });
  expect(await gq('runs', altered, '--quick')).toMatchObject({ code: 0, out: expect.stringContaining('finished') });
});
