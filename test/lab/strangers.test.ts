/**
 * A folder that somebody else filled. Whatever stands in the place of a file, every command that reads the folder ends and says what
 * is wrong; and no writer follows a link out of it.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { EvaluationStore } from '../../src/evaluate/index.ts';
import { RunDirectory } from '../../src/run/directory.ts';
import { addWritten } from '../../src/view/human.ts';
import { ViewLibrary } from '../../src/view/library.ts';
import { gq } from '../run-gq.ts';
import { temporaryFolder, writeEvaluations, writeRun } from './hand-made.ts';

const home = temporaryFolder();
const sound = join(home, 'sound', 'run');
const copy = join(home, 'copy', 'run');
const elsewhere = join(home, 'elsewhere');
const precious = join(elsewhere, 'precious');

const stepNumbers = {
  routes: { keep: 1, absorb: 0, route: 1 },
  ratio: { keep: 1, absorb: 1, route: 1 },
  blockNorms: { deployed: 1, quarantine: 1 },
};

beforeAll(async () => {
  mkdirSync(elsewhere);
  writeFileSync(precious, 'first\nsecond, without an end');
  await writeRun(sound, {
    config: { updates: 2, arm: { kind: 'activation' } },
    checkpoints: [0, 2],
    seconds: [1, 1],
    features: [[1, 2]],
    rollouts: [{ update: 1, hack: true, route: 'route', score: 2, low: 0, high: 1, featureRow: 0, featureRows: 1 }],
    steps: [1, 2].map((update) => ({ update, ...stepNumbers })),
  });
  await writeEvaluations(sound, [
    { update: 0, set: 'test-original', state: 'base', outcomes: 's-' },
    { update: 2, set: 'test-original', state: 'deployed', outcomes: 'h-' },
  ]);
  await gq('eval', sound, '--curve');
  writeFileSync(join(sound, 'notes.jsonl'), '');
  writeFileSync(join(sound, 'human-labels.jsonl'), '');
});

/** A fresh copy of the run with one of its files replaced. */
function replaced(file: string, put: (path: string) => void): string {
  rmSync(copy, { recursive: true, force: true });
  cpSync(sound, copy, { recursive: true });
  rmSync(join(copy, file), { force: true, recursive: true });
  put(join(copy, file));
  return copy;
}

async function filesOf(run: string): Promise<string[]> {
  const names = await readdir(run, { recursive: true });
  const found = await Promise.all(names.map(async (name) => ((await stat(join(run, name))).isFile() ? [name] : [])));
  return found.flat().sort();
}

const commands = (run: string): string[][] => [
  ['runs', join(run, '..')],
  ['results', run],
  ['show', run],
  ['measure', 'gate', run],
  ['measure', 'traces', run],
  ['measure', 'labels', run],
  ['diff', run, sound],
  ['verify', 'science', run],
  ['export', run, '--to', join(home, 'log'), '--log', 'trackio'],
  ['view', run, '--to', join(home, 'bundle')],
  ['train', '--resume', run],
];

describe('what waits in the place of a file', () => {
  it('hangs no command, whichever file it is, and ends in no stack', async () => {
    const bad: string[] = [];
    const files = await filesOf(sound);
    expect(files.length).toBeGreaterThan(12);
    for (const file of files) {
      const run = replaced(file, (path) => execFileSync('mkfifo', [path]));
      for (const command of commands(run)) {
        const { code, err } = await gq(...command);
        if (code > 2 || /\n\s+at /.test(err)) bad.push(`${file}: ${command[0]} ended with ${code}: ${err}`);
      }
      rmSync(join(home, 'bundle'), { recursive: true, force: true });
      rmSync(join(home, 'log'), { recursive: true, force: true });
    }
    expect(bad).toEqual([]);
  });

  it.each(['events.jsonl', 'rollouts.jsonl', 'seal.json', 'notes.jsonl', 'human-labels.jsonl'])(
    'the viewer answers beside a pipe as %s',
    async (file) => {
      const run = replaced(file, (path) => execFileSync('mkfifo', [path]));
      const library = new ViewLibrary(join(run, '..'));
      expect(await library.answer('home', new URLSearchParams())).toMatchObject({ runs: [{ id: 'run' }] });
      const asked = await Promise.allSettled(
        (['run', 'files', 'gate', 'labels', 'notes'] as const).map((kind) =>
          library.answer(kind, new URLSearchParams({ id: 'run' })),
        ),
      );
      const refusals = asked.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
      for (const refusal of refusals) expect(refusal).toContain('a named pipe');
    },
  );
});

it('notes that cannot be read are named, and hide no others', async () => {
  const run = replaced('notes.jsonl', (path) => writeFileSync(path, '{"text":1}\n'));
  const library = new ViewLibrary(join(run, '..'));
  const note = { screen: 'home', parameters: '', text: 'mine', writer: 'me' };
  await addWritten(library, 'notes', '', note);
  expect(await library.answer('notes', new URLSearchParams())).toMatchObject({
    notes: [{ id: '', text: 'mine' }],
    leftOut: [{ run: 'run', why: expect.stringContaining('expected notes of people') }],
  });
});

describe('a link in the place of a file that is written', () => {
  const links = [
    ['a link', (path: string) => symlinkSync(precious, path)],
    ['a second name', (path: string) => linkSync(precious, path)],
  ] as const;
  const untouched = (): void => expect(readFileSync(precious, 'utf8')).toBe('first\nsecond, without an end');

  it.each(links)('pinning a note does not write through %s', async (_, put) => {
    const library = new ViewLibrary(join(replaced('notes.jsonl', put), '..'));
    const note = { screen: 'run', parameters: '', text: 'mine', writer: 'me' };
    await expect(addWritten(library, 'notes', 'run', note)).rejects.toThrow('where a regular file must be');
    untouched();
  });

  it.each(links)('a label does not write through %s', async (_, put) => {
    const library = new ViewLibrary(join(replaced('human-labels.jsonl', put), '..'));
    const label = { rollout: '1-0-0', label: 'hack', writer: 'me', blind: true };
    await expect(addWritten(library, 'labels', 'run', label)).rejects.toThrow('where a regular file must be');
    untouched();
  });

  it.each(['events.jsonl', 'rollouts.jsonl', 'verdicts.jsonl', 'features.f32', 'directions.f32'])(
    'a run that goes on does not cut %s of another place',
    (file) => {
      const run = RunDirectory.open(replaced(file, links[0][1]));
      expect(() => run.cutTo()).toThrow('a link where a regular file must be');
      untouched();
    },
  );

  it('a run that goes on removes nothing from a folder that its checkpoints lead to', () => {
    mkdirSync(join(elsewhere, '.hidden'), { recursive: true });
    const run = RunDirectory.open(replaced('checkpoints', (path) => symlinkSync(elsewhere, path)));
    expect(() => run.cutTo()).toThrow('a link where a folder must be');
    expect(readFileSync(precious, 'utf8')).not.toBe('');
    mkdirSync(join(elsewhere, '.hidden'), { recursive: true });
  });

  it('no evaluation is written into a folder that a link names', async () => {
    const [evaluation] = new EvaluationStore(sound).all();
    const run = replaced('evaluations', (path) => symlinkSync(elsewhere, path));
    await expect(new EvaluationStore(run).save(evaluation)).rejects.toThrow('a link where a folder must be');
  });
});
