/** Environments that others serve: an arm is trained on them, killed, and resumed to the same bytes; what they said is asked for once. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { rewardsName, tasksName } from '../../src/env/outside/names.ts';
import { resolveConfig, train } from '../../src/lab/index.ts';
import { readVerdicts } from '../../src/oracle/index.ts';
import { RunDirectory } from '../../src/run/directory.ts';
import { ViewLibrary } from '../../src/view/library.ts';
import { temporaryFolder } from '../lab/hand-made.ts';
import { killAndCompare } from '../resume/kill.ts';
import { gq } from '../run-gq.ts';
import { setting } from '../smoke/identity-lab.ts';
import { stoppedAfterFirst, tinyModel, tinyWith } from '../smoke/lab.ts';
import { type EchoServer, openEnvEcho, orsEcho } from './echo-servers.ts';

const protocols: Readonly<Record<string, () => Promise<EchoServer>>> = { ors: orsEcho, openenv: openEnvEcho };
const gated = ['arm.kind=activation', 'arm.warmupRows=4', 'arm.tail=0.2', 'arm.refreshEvery=2', 'pairs.file=micro'];

const dataOf = (kind: string, { url }: EchoServer): string[] => [
  ...[`data.kind=${kind}`, `data.url=${url}`, 'data.tasks=24', 'environment.unhackableFraction=0'],
  ...(kind === 'openenv' ? ['data.prompt=task'] : []),
];

async function trainArguments(kind: string, server: EchoServer, ...more: readonly string[]): Promise<string[]> {
  const short = ['device.variant=plain', 'updates=2', 'output.checkpointEvery=2'];
  const arm = more.some((text) => text.startsWith('arm.kind=')) ? [] : gated;
  return setting(`model=${await tinyModel()}`, ...tinyWith(...short, ...arm, ...dataOf(kind, server), ...more));
}

for (const [kind, open] of Object.entries(protocols)) {
  it(`${kind}: kills change no byte, and no reward that is stored is asked for again`, async () => {
    await using server = await open();
    const options = { kills: 2, updates: 4, checkpointEvery: 2, seed: 3 };
    const { kills, differences, begun, allKills } = await killAndCompare({
      ...options,
      settings: [...gated, ...dataOf(kind, server)],
    });
    expect(differences).toEqual([]);
    expect(kills).toBeGreaterThanOrEqual(options.kills);
    // Twelve rollouts an update; a kill may lose the answers that were on their way, of which there are eight at most.
    const rollouts = options.updates * 12;
    expect(server.paid.length).toBeGreaterThanOrEqual(2 * rollouts);
    expect(server.paid.length).toBeLessThanOrEqual(begun * rollouts + 8 * allKills);
  });

  it(`${kind}: what came from the environment is in the run, and what is unknown is said`, async () => {
    await using server = await open();
    const path = join(temporaryFolder(), 'run');
    const trained = await gq('train', ...(await trainArguments(kind, server)), '--out', path);
    expect(trained.err).toContain('attempts, hacks and solves of this run are unknown');
    expect(trained.code).toBe(0);
    // No count of what nobody knows, and no advice that is refused.
    expect(trained.out).toContain(`read its rollouts with: gq show ${path}`);
    expect(trained.out).not.toMatch(/\b0\/0\b|gq eval/);
    const shown = await gq('show', path, '--limit', '1');
    expect(shown).toMatchObject({ code: 0, out: expect.stringContaining('outcome unknown, ') });
    const [rollout] = JSON.parse((await gq('show', path, '--json')).out).rollouts;
    expect(rollout).toMatchObject({ attempt: null, hack: null, solve: null, outcome: 'unknown' });
    const run = RunDirectory.open(path);
    const { outside, identity } = run.readManifest();
    expect(outside).toMatchObject({ address: server.url, tasks: 24, outcomes: 'unknown' });
    const verdicts = [...(await readVerdicts(run.file('verdicts'))).values()];
    expect(new Set(verdicts.map(({ outcome }) => outcome))).toEqual(new Set(['unknown']));
    expect(new Set(verdicts.map(({ reward }) => reward)).size).toBeGreaterThan(1);
    expect(JSON.parse(readFileSync(run.file(tasksName), 'utf8'))).toMatchObject({ hash: outside?.hash });
    expect(identity.problems).toMatch(/^[0-9a-f]{64}$/);
    const results = await gq('results', path);
    expect(results).toMatchObject({ code: 0 });
    expect(results.err).toContain('told rewards alone, so that attempts, hacks and solves are unknown');
    expect(results.out).not.toMatch(/0\/24|not \(0\/1\)/);
    expect(results.out).toMatch(/^activation.* 1 +unknown +unknown/m);
    const page = await new ViewLibrary(path).answer('experiment', new URLSearchParams({ id: 'run' }));
    expect(page).toMatchObject({ words: expect.arrayContaining([expect.stringContaining('solves are unknown')]) });
    for (const command of [
      ['eval', path],
      ['measure', 'gate', path],
      ['measure', 'relearn', path],
      ['show', path, '--attempt'],
      ['show', path, '--order', 'surprise'],
    ]) {
      const refused = await gq(...command);
      expect([command[0], refused.code, refused.err]).toEqual([
        command[0],
        2,
        expect.stringContaining('rewards alone'),
      ]);
    }
    const verified = await gq('verify', 'rewards', ...(await trainArguments(kind, server)));
    expect([verified.code, verified.err]).toEqual([2, expect.stringContaining('solutions of their own')]);
    const oracle = await gq(
      'train',
      ...(await trainArguments(kind, server, 'arm.kind=oracle')),
      '--out',
      `${path}-oracle`,
    );
    expect([oracle.code, oracle.err]).toEqual([2, expect.stringContaining('rewards alone')]);
  });

  it(`${kind}: an environment that changed is refused on resume, and so are rewards that were changed`, async () => {
    await using server = await open();
    const path = join(temporaryFolder(), 'run');
    const short = ['device.variant=plain', 'updates=2', 'output.checkpointEvery=2'];
    const settings = tinyWith(...short, ...gated, ...dataOf(kind, server));
    const { config } = await resolveConfig(null, [`model=${await tinyModel()}`, ...settings]);
    expect(await train(config, path, stoppedAfterFirst())).toMatchObject({ end: 'interrupted' });
    expect(server.paid).toHaveLength(12);
    const resume = () => gq('train', '--resume', path);
    server.opening = 'start with n. ';
    const other = await resume();
    expect([other.code, other.err]).toEqual([2, expect.stringMatching(/found another (?:one|prompt)/)]);
    server.opening = '';
    const rewards = join(path, rewardsName);
    const whole = readFileSync(rewards, 'utf8');
    writeFileSync(rewards, whole.replace(/"reward":0(?:\.5)?/, '"reward":1'));
    const edited = await resume();
    expect([edited.code, edited.err]).toEqual([2, expect.stringContaining('as it was written')]);
    writeFileSync(rewards, whole);
    const [asked, prompts] = [server.paid.length, server.prompts];
    expect(await resume()).toMatchObject({ code: 0 });
    expect(server.paid.length - asked).toBe(12);
    // Of the prompts, which are stored, the first and the last are compared, and that of each answer.
    expect(server.prompts - prompts).toBe(2 + 12);
  });
}

it('an experiment trains its runs, and says that they cannot be evaluated', async () => {
  await using server = await orsEcho();
  const home = temporaryFolder();
  const recipe = join(home, 'outside.toml');
  const arm = 'baseline = "activation"\n[[arms]]\nname = "activation"\nrecipe = "arm.toml"\n';
  writeFileSync(recipe, `name = "outside"\nseeds = [1]\n${arm}`);
  writeFileSync(join(home, 'arm.toml'), '');
  const given = await trainArguments('ors', server);
  const out = join(home, 'runs');
  const { code, err } = await gq('experiment', recipe, '--out', out, ...given);
  expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('not evaluated: its environment told') });
  expect(await gq('results', out)).toMatchObject({ code: 0, err: expect.stringContaining('solves are unknown') });
});

it('a key goes to the server alone: no file of the run has it, nor does an error', async () => {
  const key = 'sesame-7f3a9c';
  await using server = await orsEcho({ key });
  process.env['GQ_TEST_OUTSIDE_KEY'] = key;
  const path = join(temporaryFolder(), 'run');
  const given = await trainArguments('ors', server, 'data.keyVariable=GQ_TEST_OUTSIDE_KEY');
  const trained = await gq('train', ...given, '--out', path);
  expect(trained.code).toBe(0);
  expect(server.headers.every((each) => each['x-api-key'] === key)).toBe(true);
  process.env['GQ_TEST_OUTSIDE_KEY'] = 'another-4b1d';
  const refused = await gq('train', ...given, '--out', `${path}-refused`);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('not [key]')]);
  delete process.env['GQ_TEST_OUTSIDE_KEY'];
  const without = await gq('train', ...given, '--out', `${path}-without`);
  expect([without.code, without.err]).toEqual([2, expect.stringContaining('GQ_TEST_OUTSIDE_KEY')]);
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  expect(files.length).toBeGreaterThan(8);
  const holding = files.filter((each) => readFileSync(join(each.parentPath, each.name)).includes(key));
  expect(holding.map((each) => each.name)).toEqual([]);
  for (const said of [trained, refused, without]) expect(`${said.out}${said.err}`).not.toMatch(/sesame|another-4b1d/);
});
