/** What a person meets first: help, wrong values of options, files of the wrong kind, paths that cannot be used. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { gqProgram } from '../../test/gq-command.ts';
import { gq } from '../../test/run-gq.ts';
import { shippedRecipe } from '../run/config/recipes.ts';
import { writeExperiment } from '../study/directory.ts';
import { planExperiment, readExperiment } from '../study/experiment.ts';

/** What a command says of slow work, as all is on a busy machine, is left out of its messages. */
async function run(...words: readonly string[]): ReturnType<typeof gq> {
  const said = await gq(...words);
  return { ...said, err: said.err.replace(/^(?:plans|checks) .*\n/gm, '') };
}

const home = mkdtempSync(join(tmpdir(), 'gq-first-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

function file(name: string, text: string | Uint8Array): string {
  const path = join(home, name);
  writeFileSync(path, text);
  return path;
}

describe('gq help', () => {
  it('prints the general help, and the help of a command at any depth', async () => {
    expect((await run('help')).out).toBe((await run('--help')).out);
    expect((await run('help', 'train')).out).toBe((await run('train', '--help')).out);
    expect((await run('help', 'pool', 'make')).out).toContain('Usage: gq pool make');
  });

  it('does not know a command that does not exist', async () => {
    const { code, err } = await run('help', 'tarin');
    expect(code).toBe(2);
    expect(err).toContain('Did you mean train?');
  });
});

it('gq init says how the package gets there where it is not installed, and nothing is left beside the folder', async () => {
  const folder = join(home, 'lab');
  const { code, out } = await run('init', folder);
  expect(code).toBe(0);
  expect(out).toMatch(/cd .*lab\n(?: {2}npm run build .*\n)? {2}npm install .*\n.* experiment study\.toml\n/);
  expect(readdirSync(folder)).toContain('gate.mjs');
  // Its tests are of the function that is there to be replaced: what to change then is said before anything fails.
  expect(readFileSync(join(folder, 'gate.test.mjs'), 'utf8')).toMatch(/^\/\/ .*in place of `countFunctions`/);
  // The package is in no registry: what is written names the clone that the command ran from.
  expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain(`npm install ${process.cwd()}\``);
  expect(readdirSync(home).filter((name) => name.endsWith('.part'))).toEqual([]);
});

it('the tests that gq init writes say what is missing where the package cannot be imported', async () => {
  const folder = join(home, 'alone');
  expect((await run('init', folder)).code).toBe(0);
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--test', 'gate.test.mjs'], {
    cwd: folder,
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    encoding: 'utf8',
  });
  const found = `${stdout}${stderr}`;
  const told = expect.stringMatching(/gate\.mjs does not load: .*npm run build.*npm install PATH_OF_THE_CLONE/);
  expect({ status, found }).toEqual({ status: 1, found: told });
  expect(found).not.toMatch(/node:internal/);
});
it('gq init inside a clone says that the clone is built first, unless it has been, and installs nothing', async () => {
  mkdirSync('runs', { recursive: true });
  const inside = mkdtempSync(join('runs', 'init-'));
  try {
    const { code, out } = await run('init', join(inside, 'lab'));
    expect(code).toBe(0);
    const build = existsSync('dist') ? [] : [expect.stringMatching(/^ {2}npm run build --prefix \S+$/)];
    const next = out.split('\n').filter((line) => /^ {2}(?:cd|npm|npx|gq) /.test(line));
    expect(next).toEqual([
      expect.stringMatching(/^ {2}cd \S+lab$/),
      ...build,
      expect.stringContaining('experiment study.toml'),
      expect.stringContaining('results runs/my-study'),
    ]);
  } finally {
    rmSync(inside, { recursive: true });
  }
});

describe('errors', () => {
  it.each([
    ['verify', 'problems', 'x.jsonl', '--workers', '0'],
    ['measure', 'replay', 'runs/x', '--window', '0'],
    ['pool', 'make', '--out', 'x', '--per-problem', 'many'],
    ['pool', 'make', '--out', 'x', '--run', 'runs/x', '--problems', '8'],
    ['pairs', 'score', 'm', 'micro', '--rank', '0'],
    ['micro', 'pretrain', '--to', 'x', '--steps', '0'],
    ['micro', 'pretrain', '--to', 'x', '--precision', 'bf16'],
    ['pairs', 'score', 'm', 'micro', '--seed', '-1'],
    ['eval', 'runs/x', '--limit', '0'],
    ['train', 'micro-vanilla', '--ranks', '3'],
    ['train', 'micro-vanilla', '--ranks', '0'],
    ['grade', '--problems', 'a', '--responses', 'b', '--out', 'c', '--workers', '0'],
    ['export', 'runs/x', '--to', 'y', '--format', 'gguf'],
  ])('name the option and begin with gq once: %s %s %s %s %s', async (...argv) => {
    const { code, out, err } = await run(...argv);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    const option = argv.findLast((word) => word.startsWith('--')) ?? '';
    expect(err).toContain(option);
    expect(err).toMatch(/^gq: (?!gq)/);
    expect(err.match(/\bgq: /g)).toHaveLength(1);
  });

  it.each([[['train', '--nonsense']], [['nonsense']], [['pool', 'make']]])(
    'of the parser begin as all others do: %j',
    async (argv) => {
      const { code, err } = await run(...argv);
      expect(code).toBe(2);
      expect(err).toMatch(/^gq: /);
    },
  );
});

describe('a call that lacks something', () => {
  it.each([
    [['results'], 'gq results --help'],
    [['measure', 'gate'], 'gq measure gate --help'],
    [['pool', 'make', '--nonsense'], 'gq pool make --help'],
  ])('is told where to read on: %j', async (argv, hint) => {
    const { code, err } = await run(...argv);
    expect({ code, lines: err.trimEnd().split('\n').length }).toEqual({ code: 2, lines: 1 });
    expect(err).toContain(`(see: ${hint})`);
  });

  it.each([
    [['--seed', '2'], '--set seed=2'],
    [['--updates=3'], '--set updates=3'],
    [['--lr', '1e-4'], '--set optimiser.learningRate=1e-4'],
    [['--batch_size'], '--set sampling.promptsPerStep=VALUE'],
    [['--nonsense', '3'], '--set KEY=VALUE sets a key of the config'],
  ])('a key of the config that is typed as an option is told how it is set: %j', async (words, right) => {
    const { code, err } = await run('train', 'micro-activation', ...words);
    expect({ code, lines: err.trimEnd().split('\n').length }).toEqual({ code: 2, lines: 1 });
    expect(err).toContain(right);
    expect(err).not.toContain('Did you mean');
    expect((await run('runs', '--updates', '3')).err).not.toContain('--set');
  });

  it.each([
    [['playground', 'page'], '--to page;'],
    [['train', 'micro-vanilla', 'runs/mine'], '--out runs/mine;'],
    [['demo', 'my runs'], "--out 'my runs';"],
  ])('a folder that is named without its option is told the option: %j', async (argv, right) => {
    expect(await run(...argv)).toMatchObject({ code: 2, err: expect.stringContaining(right) });
  });

  it.each([
    [['results', 'micro-claim'], 'gq experiment micro-claim --out runs/micro-claim'],
    [['results', 'micro-activation'], 'gq train micro-activation --out runs/micro-activation'],
    [['view', 'recipes/micro-claim.toml'], 'gq experiment recipes/micro-claim.toml --out runs/micro-claim'],
    [['measure', 'gate', 'micro-activation'], 'gq train micro-activation --out runs/micro-activation'],
  ])('a recipe where runs are expected is told what makes them: %j', async (argv, right) => {
    expect(await run(...argv)).toMatchObject({ code: 2, err: expect.stringContaining(`It is a recipe`) });
    expect((await run(...argv)).err).toContain(right);
  });

  it('a step that its study has not begun is told what goes on with the study, and its claim where it would be', async () => {
    const before = process.cwd();
    const project = join(home, 'studied');
    const study = join(project, 'runs', 'qwen3-4b-warm-study');
    mkdirSync(study, { recursive: true });
    const recipe = shippedRecipe('qwen3-4b-first');
    const set = ['teacher.makeProblems=64', 'teacher.makeSamples=8', 'teacher.offStep=10'];
    const own = ['model=absent', 'data.path=a b'];
    const part = { seeds: [41] };
    const plan = await planExperiment(readExperiment(recipe), recipe, [...set, ...own], part);
    await writeExperiment(join(study, 'qwen3-4b-first'), plan);
    const advice =
      "not begun; the study goes on with: gq experiment qwen3-4b-warm-study --set model=absent --set 'data.path=a b'";
    try {
      process.chdir(project);
      const missing = 'runs/qwen3-4b-warm-study/qwen3-4b-heldout';
      for (const words of [
        ['results', missing],
        ['runs', missing],
        ['show', '--hack', join(missing, 'haar-41')],
      ]) {
        const { code, err } = await run(...words);
        expect({ code, err }).toMatchObject({ code: 2, err: expect.stringMatching(new RegExp(`${advice}\\s$`)) });
      }
      const claimed = async (name: string) => (await run('claim', name)).out.replace(/\s+/g, ' ');
      expect(await claimed('qwen3-4b-claim')).toContain('open: runs/qwen3-4b-warm-study/qwen3-4b-claim is not begun');
      expect(await claimed('qwen3-4b-first')).toContain('qwen3-4b-warm-study/qwen3-4b-first was begun under another');
    } finally {
      process.chdir(before);
    }
  });

  it.each([
    ['micro-claim', 'gq experiment micro-claim --out OUT'],
    ['micro-claim/vanilla-1', 'gq experiment micro-claim --out OUT'],
    ['nowhere/vanilla-1', 'Make one with: gq demo --quick'],
  ])('a folder that is not there is told what makes it, by every command alike: %s', async (name, advice) => {
    const folder = join(home, 'some', name);
    const told = advice.replace('OUT', join(home, 'some', 'micro-claim'));
    for (const words of [['results'], ['runs'], ['view'], ['show', '--hack'], ['measure', 'gate'], ['eval']]) {
      expect((await run(...words, folder)).err.trimEnd(), words.join(' ')).toMatch(new RegExp(`${told}$`));
    }
  });

  it('a run that stands in runs is found by its name', async () => {
    const before = process.cwd();
    mkdirSync(join(home, 'project', 'runs', 'mine'), { recursive: true });
    try {
      process.chdir(join(home, 'project'));
      expect((await run('results', 'mine')).err).toContain('Did you mean runs/mine?');
    } finally {
      process.chdir(before);
    }
  });

  it('what to do is said as commands are typed where the program is', async () => {
    vi.stubEnv('GQ_NAME', 'npx gq');
    try {
      expect((await run('view', join(home, 'nowhere'))).err).toContain('Make one with: npx gq demo --quick');
      expect((await run('train', '--nonsense')).err).toContain('see: npx gq train --help');
      expect((await run('train', '--help')).out).toContain('$ npx gq train micro-activation');
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('and the program finds that out: gq where the shell has one, of no project', () => {
    const folder = join(home, 'on-path');
    const own = join(home, 'node_modules', '.bin');
    for (const path of [folder, own]) {
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, 'gq'), '');
    }
    const { GQ_NAME: _, ...env } = process.env;
    const helpWith = (PATH: string): string =>
      spawnSync(process.execPath, [gqProgram(), 'init', '--help'], { env: { ...env, PATH }, encoding: 'utf8' }).stdout;
    expect(helpWith(folder)).toContain('$ gq init lab');
    expect(helpWith(own)).toContain('$ npx gq init lab');
  });

  it.each(['runs', 'view'])('a folder that is not there is told as of the command: gq %s', async (command) => {
    const { code, err } = await run(command, join(home, 'nowhere'));
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(`gq: runs of ${join(home, 'nowhere')}:`) });
  });

  it('an experiment where a run is expected is named, with its runs', async () => {
    const folder = join(home, 'study');
    mkdirSync(join(folder, 'vanilla-1'), { recursive: true });
    writeFileSync(join(folder, 'experiment.json'), '{}');
    writeFileSync(join(folder, 'vanilla-1', 'manifest.json'), '{}');
    const { code, err } = await run('measure', 'gate', folder);
    expect(code).toBe(2);
    expect(err).toContain(`found an experiment. Name one of its runs, such as ${join(folder, 'vanilla-1')}`);
  });
});

describe('a cluster that is not there', () => {
  afterEach(() => void vi.unstubAllEnvs());
  const small = ['--seeds', '1', '--arms', 'vanilla', '--out', join(home, 'on-cluster')];

  it('is refused in one line that says what to do, and nothing is written', async () => {
    vi.stubEnv('PATH', join(home, 'bin'));
    const absent = await run('experiment', 'micro-claim', '--on', 'slurm', ...small);
    expect(absent).toMatchObject({ code: 2, err: expect.stringContaining('apt-get install slurm-wlm') });
    mkdirSync(join(home, 'bin'));
    const sinfo = '#!/bin/sh\necho "sinfo: error: no host" >&2; echo "sinfo: fatal: no controller" >&2; exit 1\n';
    writeFileSync(join(home, 'bin', 'sinfo'), sinfo, { mode: 0o755 });
    const silent = await run('experiment', 'micro-claim', '--on', 'slurm', ...small);
    expect(silent.code).toBe(2);
    expect(silent.err).toMatch(
      /^gq: --on slurm: .* found sinfo: fatal: no controller\. Call it where sinfo works\..*\n$/,
    );
    const ranks = await run('train', 'micro-vanilla', '--ranks', '2', '--out', join(home, 'on-cluster'));
    expect(ranks).toMatchObject({ code: 2, err: expect.stringContaining('apt-get install openmpi-bin') });
    expect(existsSync(join(home, 'on-cluster'))).toBe(false);
  });
});

describe('a file of another kind', () => {
  it('is named with the command that takes it', async () => {
    const experiment = await run('train', 'recipes/micro-claim.toml', '--out', join(home, 'a'));
    expect(experiment.code).toBe(2);
    expect(experiment.err).toContain('gq experiment micro-claim');
    expect(experiment.err).not.toContain('did you mean');
    const recipe = await run('experiment', 'recipes/micro-activation.toml', '--out', join(home, 'b'));
    expect(recipe.code).toBe(2);
    expect(recipe.err).toContain('gq train micro-activation');
  });

  it('is a recipe of the package where it has a bare name', async () => {
    const recipe = await run('config', 'micro-vanilla');
    expect(recipe).toMatchObject({ code: 0, out: expect.stringMatching(/arm\.kind +"?vanilla/) });
    const experiment = await run('experiment', 'micro-claim', '--dry-run', '--seeds', '1', '--arms', 'vanilla');
    expect(experiment).toMatchObject({ code: 0, out: expect.stringMatching(/^runs\/micro-claim\nvanilla-1 /) });
  });

  it('prints little of a file that is not text', async () => {
    const bytes = new Uint8Array(20_000).map((_, i) => (i * 7919) % 256);
    for (const command of ['train', 'experiment', 'config']) {
      const { code, err } = await run(command, file('binary.toml', bytes));
      expect(code).toBe(2);
      expect(err).toContain('binary.toml');
      expect(err.length).toBeLessThan(500);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal
      expect(err).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
    }
  });

  it('may begin with a byte order mark', async () => {
    const recipe = file('bom.toml', '\ufeffupdates = 3\n');
    expect((await run('config', recipe)).out).toMatch(/updates +3/);
  });
});

describe('paths that cannot be used', () => {
  it.each([
    ['train', 'FILE'],
    ['train', 'FILE/x'],
    ['train', '/proc/gq-x'],
  ])('gq %s --out %s is exit 2 with the path', async (command, target) => {
    const plain = file('plain.txt', 'mine\n');
    const path = target.replace('FILE', plain);
    const { code, err } = await run(command, 'recipes/micro-vanilla.toml', '--set', 'updates=1', '--out', path);
    expect({ code, stack: err.includes('\n    at ') }).toEqual({ code: 2, stack: false });
    expect(err).toContain(path.startsWith('/proc') ? '/proc' : plain);
    expect(readFileSync(plain, 'utf8')).toBe('mine\n');
  });

  const none = '/proc/gq-none';
  it.each([
    ['results', home, '--figures', none],
    ['results', home, '--html', '--out', `${none}/report.html`],
    ['experiment', 'micro-claim', '--out', none],
    ['demo', '--quick', '--out', none],
    ['pool', 'make', '--out', `${none}.jsonl`],
    ['verify', 'problems', 'test/data/problems-benchmark.jsonl', '--write', `${none}.jsonl`],
    ['grade', '--problems', 'p', '--responses', file('none.jsonl', ''), '--out', `${none}.jsonl`],
    ['micro', 'pretrain', '--to', `${none}/base`],
    ['model', 'init', '--config', 'nano', '--tokenizer-from', 'bytes', '--seed', '1', '--to', none],
    ['export', home, '--to', none],
  ])('a place where nothing can be written is refused before any work: gq %s %s %s %s', async (...argv) => {
    const { code, err } = await run(...argv);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(none) });
    expect(err).toContain('expected a place where files can be written, found /proc');
  });

  it('a device is no file to overwrite', async () => {
    const { code, err } = await run('pool', 'make', '--force', '--out', '/dev/null');
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('found a device or a pipe') });
  });

  it('a folder where a file is expected is exit 2 with the path', async () => {
    const folder = join(home, 'folder.toml');
    mkdirSync(folder, { recursive: true });
    for (const argv of [
      ['train', folder],
      ['config', folder],
      ['verify', 'problems', folder],
      ['pairs', 'check', folder],
    ]) {
      const { code, err } = await run(...argv);
      expect({ argv, code, stack: err.includes('\n    at ') }).toEqual({ argv, code: 2, stack: false });
      expect(err).toContain(folder);
    }
  });
});

describe.each(['line\nend', 'bell\u0007', '\u001b[31mred', 'turned\u202eround'])('the name %j', (name) => {
  it.each<[string, (path: string) => string[]]>([
    ['train', (path) => ['train', 'micro-vanilla', '--out', path]],
    ['experiment', (path) => ['experiment', 'micro-claim', '--out', path]],
    ['demo', (path) => ['demo', '--out', path]],
    ['init', (path) => ['init', path]],
    ['playground', (path) => ['playground', '--to', path]],
    ['view', (path) => ['view', home, '--to', path]],
    ['results --figures', (path) => ['results', home, '--figures', path]],
    ['results --html', (path) => ['results', home, '--html', '--out', path]],
  ])('is not given to what gq %s makes', async (_, words) => {
    const { code, err } = await run(...words(join(home, 'names', name, 'below')));
    expect(code).toBe(2);
    expect(err).toMatch(/^gq: .*expected a (?:new )?name without line ends.*\n$/);
    expect(existsSync(join(home, 'names'))).toBe(false);
  });
});
