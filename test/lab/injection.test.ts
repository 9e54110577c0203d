/** Nothing that a model, a file or a plugin says reaches a terminal as a command: all that gq prints is made visible first. */
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { EvaluationStore } from '../../src/evaluate/store.ts';
import { RunDirectory } from '../../src/run/directory.ts';
import { evaluationRows, temporaryFolder, writeRun } from './hand-made.ts';
import { TerminalEmulator } from './terminal-emulator.ts';

/** A title change, a bell, a clear screen, a carriage return, backspaces, a C1 sequence, overrides of direction, a hidden mark. */
const hostile = 'x\u001b]0;own\u0007\u001b[2J\r\b\b\u009b31m\u202e\u2066\u200f\u200by\u007f';
/** The same for names of files, which have no line ends. */
const hostileName = `run${hostile}`;
const obeyed = /[\p{Cc}\p{Cf}]/u;

async function gq(...argv: string[]): Promise<{ code: number; text: string }> {
  let text = '';
  const sink = { write: (part: string) => (text += part) };
  const code = await runCli(argv, { stdout: sink, stderr: sink });
  return { code, text };
}

function expectVisible(text: string): void {
  expect(text.replace(/[\n\t]/g, '')).not.toMatch(obeyed);
}

const home = temporaryFolder();

async function hostileRun(): Promise<string> {
  const path = join(home, hostileName);
  await writeRun(path, {
    config: { seed: 1, updates: 2, arm: { kind: 'activation' } },
    checkpoints: [0, 2],
    finished: false,
    rollouts: [true, false].map((hack) => ({
      update: 1,
      hack,
      id: `1-0-${hostile}${hack}`,
      problem: `problem ${hostile}`,
      loophole: `own ${hostile}`,
      prompt: `prompt ${hostile}\n`,
      completion: `def run():\n\tpass ${hostile}`,
      route: hack ? 'route' : 'keep',
      score: hack ? 2 : -1,
      low: 0,
      high: 1,
    })),
    steps: [{ update: 1 }],
  });
  const run = RunDirectory.open(path);
  const manifest = { ...run.readManifest(), arm: `arm ${hostile}`, name: hostile };
  await run.writeManifest(manifest);
  const verdicts = readFileSync(run.ledger('verdicts'), 'utf8');
  const evidence = JSON.stringify(`raised ${hostile}`);
  writeFileSync(run.ledger('verdicts'), verdicts.replaceAll('"evidence":""', `"evidence":${evidence}`));
  const store = new EvaluationStore(path);
  const set = 'test-original' as const;
  for (const [state, update, outcomes] of [
    ['base', 0, '----'],
    ['full', 2, 'hhs-'],
    ['deployed', 2, '-hhs'],
  ] as const) {
    const rows = evaluationRows({ update, set, state, outcomes, loopholes: [`a ${hostile}`, `b ${hostile}`] });
    const named = rows.map((row) => ({ ...row, problem: `${row.problem} ${hostile}` }));
    await store.save({ update, set, state, limit: null, seed: 1, key: 'key', problems: null, rows: named });
  }
  return path;
}

const made = hostileRun();

describe('what a run holds', () => {
  it.each([
    ['measure traces'],
    ['measure traces', '--json'],
    ['measure gate'],
    ['measure gate', '--json'],
    ['results'],
    ['results', '--format', 'markdown'],
    ['results', '--format', 'csv'],
    ['results', '--format', 'json'],
    ['results', '--format', 'latex'],
    ['results', '--html'],
    ['measure replay', '--gate', `tail=${hostile}`],
    ['measure replay', '--gate', hostile],
  ])('is printed visibly by gq %s', async (command, ...options) => {
    const { text } = await gq(...command.split(' '), await made, ...options);
    expect(text).toMatch(/\\x1b|\\u001b/);
    expectVisible(text);
  });

  it('is the same in JSON', async () => {
    const { text } = await gq('measure', 'traces', await made, '--json');
    expect(JSON.parse(text).traces[0].rollout.completion).toBe(`def run():\n\tpass ${hostile}`);
  });

  it('moves nothing in a terminal', async () => {
    const terminal = new TerminalEmulator(100);
    await runCli(['measure', 'traces', await made], { stdout: terminal, stderr: terminal });
    expect(terminal.unknown.filter((token) => token !== '\t')).toEqual([]);
    expect(terminal.lines.join('\n')).toContain('evidence: raised x\\x1b]0;own\\x07');
  });
});

describe('names in errors', () => {
  const missing = join(home, `gone-${hostile}`);
  it.each([
    ['eval'],
    ['eval', '--curve'],
    ['eval', '--elicit'],
    ['eval', '--leak'],
    ['eval', '--prefill'],
    ['measure', 'gate'],
    ['measure', 'traces'],
    ['measure', 'replay'],
    ['results'],
    ['results', '--html'],
    ['experiment'],
    ['export', '--to', join(home, 'out')],
    ['train', '--resume'],
  ])('of files are printed visibly by gq %s', async (...command) => {
    const { code, text } = await gq(...command, missing);
    expect(code).not.toBe(0);
    expect(text).toContain('\\x1b');
    expectVisible(text);
  });

  it('of options, commands and settings are printed visibly', async () => {
    for (const argv of [
      [hostile],
      ['train', `--${hostile}`],
      ['train', 'recipes/micro-vanilla.toml', '--set', `${hostile}=1`],
      ['results', await made, '--format', hostile],
      ['results', await made, '--baseline', hostile],
      ['eval', await made, '--sets', hostile],
      ['experiment', 'recipes/micro-claim.toml', '--arms', hostile],
    ]) {
      const { code, text } = await gq(...argv);
      expect(code, text).toBe(2);
      expectVisible(text);
    }
  });

  it('of plugins and their exceptions are printed visibly', async () => {
    const folder = join(home, `plugins-${hostile}`);
    mkdirSync(folder);
    const plugin = join(folder, 'plugin.js');
    const text = JSON.stringify(hostile);
    writeFileSync(plugin, `const error = new Error(${text}); error.name = ${text}; throw error;`);
    const recipe = join(folder, 'recipe.toml');
    writeFileSync(recipe, `extends = "micro-base"\nplugins = ["./plugin.js"]\n`);
    const { code, text: said } = await gq('config', recipe);
    expect(code).not.toBe(0);
    expectVisible(said);
  });
});

describe('the sources of the command line', () => {
  it('send sequences and use the streams of the process in two files only', () => {
    const files = readdirSync('src/cli', { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .filter((name) =>
        /\\u001b|\\x1b|\\r|process\.std(?:out|err)|console\./.test(readFileSync(join('src/cli', name), 'utf8')),
      );
    expect(files.sort()).toEqual(['gq.ts', 'terminal/screen.ts']);
  });
});

describe('a folder whose name has line ends', () => {
  const forged = 'a\ngq: FORGED\n\u001b[2Jb';
  const folder = join(temporaryFolder(), forged);
  const isForged = /^gq: FORGED/m;

  it('is shown in a list on one line, and refused as a run on one', async () => {
    const plain = temporaryFolder();
    await writeRun(plain, { rollouts: [{ update: 1 }], steps: [{ update: 1 }] });
    renameSync(plain, folder);
    for (const call of [
      ['runs', folder],
      ['results', folder],
      ['results', folder, '--format', 'markdown'],
      ['diff', folder, folder],
      ['measure', 'gate', folder],
      ['show', folder],
      ['train', '--resume', folder],
      ['train', 'micro-vanilla', '--out', `${folder}2`],
      ['claim', folder],
      ['eval', folder],
    ]) {
      const { text } = await gq(...call);
      expect({ call, isForged: isForged.test(text) }).toEqual({ call, isForged: false });
      expect(text).toMatch(/a\\x0agq: FORGED|a\\ngq: FORGED|a\n {2}gq: FORGED/);
    }
  });
});
