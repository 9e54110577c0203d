/**
 * Every command that a page, a recipe, an example, a help text or a message prints is one that the program takes: its words are read by
 * the parser itself, which refuses unknown commands, options, values and arguments. Recipes and scripts that they name exist. Each is
 * run where a user would type it by `npm run check:printed` (test/printed); those that only read are run here as well, on the golden study.
 */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { reportCommands } from '../src/cli/commands/demo.ts';
import { readCall } from '../src/cli/program.ts';
import { renderReport } from '../src/report/html.ts';
import { listRecipes } from '../src/run/config/recipes.ts';
import { openResults } from '../src/study/claim-progress.ts';
import { experimentPage } from '../src/view/experiment-page.ts';
import { listFiles, root } from './architecture/files.ts';
import { studyName, unpackStudy } from './golden-study/study.ts';
import { temporaryFolder } from './lab/hand-made.ts';
import {
  commandsOf,
  inExamples,
  inHelp,
  inMessages,
  inProse,
  inRecipes,
  inReport,
  onPages,
  wordsOf,
} from './printed/commands.ts';
import { gq } from './run-gq.ts';

const shipped = listRecipes().map(({ name }) => name);

async function complaintOf(words: readonly string[]): Promise<string | null> {
  let said = '';
  const sink = { write: (text: string) => (said += text) };
  try {
    await readCall(words, { stdout: sink, stderr: sink });
  } catch (error) {
    return said || String(error);
  }
  // A recipe in the place of the first argument goes by its bare name, or is a file of the repository.
  const [command, recipe = ''] = words;
  if (!['train', 'experiment', 'config'].includes(command) || recipe.startsWith('-')) return null;
  const isKnown =
    shipped.includes(recipe) || existsSync(join(root, recipe)) || !/^(?:recipes|examples)\/|^[\w.-]+$/.test(recipe);
  return isKnown || /^[A-Z]|\.toml$/.test(recipe) ? null : `no recipe ${recipe}`;
}

describe.each([
  ['pages', onPages, 60],
  ['comments of recipes', inRecipes, 20],
  ['help', inHelp, 80],
])('commands in %s', (_, lines, fewest) => {
  it('are taken by the parser', async () => {
    const wrong: string[] = [];
    let read = 0;
    for (const { path, line } of lines) {
      for (const words of commandsOf(line).map(wordsOf)) {
        if (words === null) continue;
        read++;
        const complaint = await complaintOf(words);
        if (complaint !== null) wrong.push(`${path}: ${line}: ${complaint.trim()}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(read).toBeGreaterThan(fewest);
  });
});

/** Where a text speaks of the program, or of a job of its queue. */
const nouns = /^gq (?:itself|that|made|did|wrote|job)\b/;
/** What the parser says of a call that goes on: an argument, a value or the name of a command is still to come. */
const lacking = /missing required argument|required option|argument missing|^Usage: gq \w+ \[options\] \[command\]/;

/** Whether the beginning of a sentence is a call: words are left off at its end until the parser takes it, or lacks only an argument. */
async function beginsWithCall(line: string): Promise<string | null> {
  const sentence = line.split(/[,;:)<\\]|\. |\.$| {2}/)[0].trim();
  const words = wordsOf(sentence) ?? [];
  if (words[0] === 'help' || nouns.test(line)) return null;
  if (words[1] === 'WORD') words.splice(1);
  let first: string | null = null;
  for (let count = words.length; count > 0; count--) {
    const complaint = await complaintOf(words.slice(0, count));
    if (complaint === null || lacking.test(complaint)) return null;
    first ??= complaint;
  }
  return first;
}

describe.each([
  ['prose', inProse, 100],
  ['messages', inMessages, 60],
])('commands in %s', (_, lines, fewest) => {
  it('have names and options that exist', async () => {
    const wrong: string[] = [];
    for (const { path, line } of lines) {
      const complaint = await beginsWithCall(line);
      if (complaint !== null) wrong.push(`${path}: ${line}: ${complaint.trim()}`);
    }
    expect(wrong).toEqual([]);
    expect(lines.length).toBeGreaterThan(fewest);
  });
});

it('scripts of npm that pages name are there', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const named = onPages.flatMap(({ line }) =>
    [...line.matchAll(/npm run (?:--\S+ )?([\w:-]+)/g)].map(([, name]) => name),
  );
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
  expect(named.length).toBeGreaterThan(5);
});

it('every program among the examples says how it is started', () => {
  const programs = listFiles().filter((path) => /^examples\/[^/]*\.ts$/.test(path));
  const started = inExamples.map(({ path, line }) => (line.startsWith(`npx node ${path} `) ? path : line));
  expect(started).toEqual(programs);
  expect(programs.length).toBeGreaterThan(4);
});

it.each(['train --sed 3', 'trian micro-vanilla', 'train micro-vanila', 'eval', 'playground x'])(
  'a planted one is caught: gq %s',
  async (line) => expect(await complaintOf(line.split(' '))).not.toBeNull(),
);

describe('commands that only read, where their runs are', () => {
  const home = temporaryFolder();
  const usual = process.cwd();
  beforeAll(() => {
    unpackStudy(join(home, 'stored'));
    const copy = (from: string, to: string) => cpSync(join(home, from), join(home, to), { recursive: true });
    const small = ['easy-try', 'easy-first', 'easy-claim', 'stories-first', 'stories-claim'];
    for (const name of ['micro-claim', 'micro-ablations', 'demo-quick-1', ...small])
      copy(`stored/${studyName}`, `runs/${name}`);
    for (const name of ['activation-1', 'vanilla-1']) copy(`stored/${studyName}/${name}`, `runs/${name}`);
    process.chdir(home);
  });
  afterAll(() => process.chdir(usual));

  // The stored study has ten updates, no monitor, and no model of Qwen.
  const reading =
    /^gq (?:results|show|runs|diff|config|recipes|completion|pairs check hack|measure labels) ?(?!.*(?:--import|qwen|--update 14|--flagged))/;
  const lines = [...new Set([...onPages, ...inHelp].flatMap(({ line }) => commandsOf(line)))].filter((line) =>
    reading.test(line),
  );

  it.each(lines)('%s', async (line) => {
    const { code, err } = await gq(...(wordsOf(line) ?? []));
    expect({ code, err }).toMatchObject({ code: 0 });
  });

  it('are many', () => expect(lines.length).toBeGreaterThan(25));

  describe('and those of a report', () => {
    // Without curves, a report names the command that makes them.
    const folder = 'runs/reported';
    beforeAll(() => {
      cpSync(join(home, 'stored', studyName), folder, { recursive: true });
      for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        if (path.includes('curve')) rmSync(join(folder, path));
      }
    });
    const html = async (...more: readonly string[]): Promise<string> => {
      const results = await openResults(folder);
      return renderReport(results, { title: 'a demo', commands: [...reportCommands(results, folder), ...more] });
    };
    const faultsOf = async (page: string): Promise<string[]> => {
      const { lines: printed, prose } = inReport(page);
      const ends = printed.map(async (line) => {
        const { code, err } = await gq(...(wordsOf(line) ?? []));
        return code === 0 ? [] : [`${line}: ${code} ${err}`];
      });
      const said = prose.map(async (line) => (await beginsWithCall(line)) ?? []);
      return (await Promise.all([...ends, ...said])).flat();
    };

    it('end well', async () => {
      const page = await html();
      expect(inReport(page).lines.length).toBeGreaterThan(2);
      expect(inReport(page).prose.length).toBeGreaterThan(0);
      expect(await faultsOf(page)).toEqual([]);
    });

    it('a planted one is caught, on a line of its own and in a sentence', async () => {
      expect(await faultsOf(await html(`gq measure gates ${folder}/activation-1`))).toHaveLength(1);
      expect(await faultsOf((await html()).replace('gq eval RUN', 'gq evals RUN'))).toHaveLength(1);
    });

    it('begin with what starts the program where its reader is, and so do those of the page of an experiment', async () => {
      vi.stubEnv('GQ_NAME', 'npx gq');
      try {
        const { lines: printed, prose } = inReport(await html());
        const { words } = await experimentPage('it', await openResults(folder), (path) => path);
        const shown = words.flatMap((word) => word.match(/(?:npx )?(?<![\w./-])gq [a-z]/g) ?? []);
        expect(shown.length).toBeGreaterThan(0);
        expect([...printed, ...prose, ...shown].filter((line) => !line.startsWith('npx gq '))).toEqual([]);
      } finally {
        vi.unstubAllEnvs();
      }
    });
  });
});
