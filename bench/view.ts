/**
 * How fast the viewer is with many runs: one experiment of 200 runs, 100 updates of 64 rollouts each, made by hand. Prints a line per
 * figure: time on the clock, and processor time of the server, which also holds on busy cores. Needs a Chromium, and a Node that runs
 * TypeScript, since the page is bundled from its sources: `node bench/view.ts [FOLDER]`, where FOLDER keeps the runs for the next time.
 */
import { existsSync, linkSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Page } from 'playwright-core';
import { sealRun } from '../src/oracle/index.ts';
import { writeSeal } from '../src/run/index.ts';
import { median } from '../src/stats/index.ts';
import type { Catalogue, RolloutList, RunFiles } from '../src/view/api.ts';
import { openPage, startView, writeBundle } from '../src/view/index.ts';
import { PageRollouts } from '../src/view/page/page-rollouts.ts';
import { RangeFile } from '../src/view/page/range-file.ts';
import { askView } from '../test/ask-view.ts';
import { fileOf, findChromium, megabytes, pageProcesses } from '../test/browser/chromium.ts';
import { serveFolder } from '../test/file-host.ts';
import { writeRun } from '../test/lab/hand-made.ts';
import { pageRollouts } from '../test/page-rollouts.ts';

const size = { arms: 20, seeds: 10, updates: 100, rollouts: 64, contents: 8 } as const;
const experiment = 'many-runs';

/** The ledgers of eight runs differ; those of the others are these files with other names, which the viewer must not know. */
async function makeRuns(root: string): Promise<void> {
  const directory = join(root, experiment);
  const arms = Array.from({ length: size.arms }, (_, arm) => `gate${arm}`);
  const seeds = Array.from({ length: size.seeds }, (_, seed) => seed);
  const runs = arms.flatMap((arm) => seeds.map((seed) => ({ arm, seed, folder: `${arm}-${seed}`, configHash: '' })));
  const folders = runs.map(({ folder }) => join(directory, folder));
  for (const [at, { seed }] of runs.entries()) {
    const path = folders[at];
    const isMade = at < size.contents;
    const run = await writeRun(path, {
      config: { seed, updates: size.updates, arm: { kind: 'activation' } },
      checkpoints: [0, size.updates],
      rollouts: isMade ? madeRollouts(at) : [],
      steps: Array.from({ length: size.updates }, (_, i) => ({ update: i + 1, meanReward: i / size.updates })),
    });
    if (isMade) await sealRun(run);
    else {
      const tables = ['rollouts', 'verdicts'];
      for (const name of tables) rmSync(join(path, `${name}.jsonl`));
      const made = folders[at % size.contents];
      for (const name of tables) linkSync(join(made, `${name}.parquet`), join(path, `${name}.parquet`));
      await writeSeal(path, size.updates);
    }
  }
  const plan = { name: experiment, seeds, arms: arms.map((name) => ({ name, recipe: 'none.toml' })) };
  writeFileSync(join(directory, 'experiment.json'), JSON.stringify({ format: 1, experiment: plan, runs }));
}

/** Text that does not compress: 400 letters that follow from a number. */
function noise(seed: number): string {
  let state = seed + 1;
  return Array.from({ length: 400 }, () => {
    state = (state * 48271) % 2147483647;
    return String.fromCharCode(97 + (state % 26));
  }).join('');
}

function madeRollouts(content: number) {
  const count = size.updates * size.rollouts;
  return Array.from({ length: count }, (_, i) => ({
    update: Math.floor(i / size.rollouts) + 1,
    group: Math.floor((i % size.rollouts) / 8),
    hack: i % 5 === 0,
    route: i % 3 === 0 ? 'keep' : 'route',
    score: Math.sin(i + content),
    low: -0.5,
    high: 0.5,
    problem: `problem-${Math.floor(i / 8) % 97}`,
    prompt: `Problem ${Math.floor(i / 8) % 97}\n${'A sentence of the task that is to be solved. '.repeat(12)}`,
    completion: `# ${noise(content * count + i)}\nclass Solution:\n    def solve(self, n):\n        n += ${i}\n        return n\n${'# a line of thought\n'.repeat(12)}`,
  }));
}

const processorMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/** Processor time of the browser's pages: hundredths of a second, after the name of the process, which may have spaces. */
const pageMs = (): number =>
  pageProcesses().reduce((sum, id) => {
    const [user = 0, system = 0] = fileOf(id, 'stat').split(') ').at(-1)?.split(' ').slice(11, 13).map(Number) ?? [];
    return sum + 10 * (user + system);
  }, 0);

async function timed(what: string, work: () => Promise<unknown>): Promise<void> {
  const [started, used, usedByPage] = [performance.now(), processorMs(), pageMs()];
  const value = await work();
  const note = typeof value === 'string' ? `, ${value}` : '';
  const inPage = pageMs() - usedByPage;
  const times = `${(performance.now() - started).toFixed(0)} ms, ${(processorMs() - used).toFixed(0)} of the processor${inPage === 0 ? '' : `, ${inPage} of the page's`}`;
  console.log(`${what}: ${times}${note}`);
}

/** Searches as the page does: the first list as soon as there is one, then the rest until all runs are searched. */
async function search(page: PageRollouts, what: string, parameters: Readonly<Record<string, string>>): Promise<void> {
  const query = new URLSearchParams({ limit: '100', ...parameters });
  let first: RolloutList | null = null;
  let rest: Promise<RolloutList> | null = null;
  await timed(`${what}, first list`, async () => {
    await new Promise<void>((shown) => {
      rest = page.list(experiment, query, (list) => {
        first ??= list;
        shown();
        return false;
      });
      void rest.then(() => shown());
    });
    return first === null ? 'at its end' : `${first.rows.length} rows, ${first.unread} runs to go`;
  });
  await timed(`${what}, the rest`, async () => {
    const list = await rest;
    return `${list?.found} of ${list?.total} rollouts`;
  });
}

/** Scrolls by half a window a frame for three seconds, through rows that are not read yet. A frame late by other work counts in the mean only. */
async function scroll(page: Page): Promise<string> {
  const gaps = (await page.evaluate(`new Promise((done) => {
    const started = performance.now();
    const times = [started];
    const step = () => {
      times.push(performance.now());
      document.querySelector('.virtual')?.scrollBy(0, 280);
      if (performance.now() - started < 3000) requestAnimationFrame(step);
      else done(times.slice(1).map((time, i) => time - times[i]));
    };
    requestAnimationFrame(step);
  })`)) as number[];
  const sum = gaps.reduce((all, gap) => all + gap, 0);
  return `${((1000 * gaps.length) / sum).toFixed(0)} frames a second, median gap ${median(gaps).toFixed(1)} ms, longest ${Math.max(...gaps).toFixed(0)} ms`;
}

/** What a page of a static folder reads for one rollout, for a list, and for a search. */
async function measureBundle(directory: string, out: string): Promise<string> {
  await writeBundle(directory, out, await openPage());
  const list: Record<string, RunFiles> = JSON.parse(readFileSync(join(out, 'data', 'list.json'), 'utf8'));
  const run = basename(directory);
  const files = list[`files ${run}`];
  const kinds: Readonly<Record<string, (page: PageRollouts) => Promise<unknown>>> = {
    'one rollout': (page) => page.rollout(run, '17-0-1024'),
    'a list': (page) => page.list(run, new URLSearchParams({ limit: '100' })),
    'a search': (page) => page.list(run, new URLSearchParams({ text: 'n += 699' })),
  };
  const found: string[] = [];
  for (const [name, read] of Object.entries(kinds)) {
    using host = await serveFolder(out, { ranges: true });
    const open = ({ name: path, bytes }: RunFiles['rollouts'], isSealed: boolean) =>
      new RangeFile({ name: host.address + path, bytes }, isSealed);
    await read(new PageRollouts({ runs: async (id) => [id], files: async () => files, open }));
    const sum = host.sent.reduce((all, one) => all + one.bytes, 0);
    found.push(`${name} ${(sum / 1000).toFixed(0)} kB in ${host.sent.length} requests`);
  }
  return `${found.join(', ')}, of a file of ${(files.rollouts.bytes / 1000).toFixed(0)} kB`;
}

const launch = findChromium();
const given = process.argv[2];
const root = given ?? mkdtempSync(join(tmpdir(), 'gq-bench-view-'));
try {
  if (!existsSync(join(root, experiment, 'experiment.json'))) await timed('making the runs', () => makeRuns(root));
  await using view = await startView(root, await openPage(), { host: '127.0.0.1', port: 0 });
  const home = async (): Promise<string> => `${(await (await askView(view, '/api/home')).text()).length} characters`;
  await timed(`home, ${size.arms * size.seeds} runs, first`, home);
  await timed('home, again', home);
  const rollouts = pageRollouts(view, (await (await askView(view, '/api/home')).json()) as Catalogue);
  await search(rollouts, 'first search, nothing is read yet', { text: 'def solve' });
  await search(rollouts, 'next search, another word', { text: 'thought' });
  await search(rollouts, 'a rare text', { text: 'n += 699' });
  await search(rollouts, 'regular expression', { text: 'n .= 6[0-9]9\\b', pattern: '1' });
  await search(rollouts, 'facets', { truth: 'hack', route: 'keep' });
  await search(rollouts, 'order by surprise', { order: 'surprise' });
  await search(rollouts, 'the same, far below', { order: 'surprise', offset: '900000' });
  console.log(`memory of server and page: ${(process.memoryUsage().rss / 1e6).toFixed(0)} MB`);
  await using browser = await launch();
  const page = await browser.newPage({ viewport: { width: 1180, height: 900 } });
  await timed('home in the browser', async () => {
    // Without a place in its address, a folder of one experiment opens at that experiment's story.
    await page.goto(`${view.address}#/`);
    await page.waitForSelector('.card');
  });
  const total = size.arms * size.seeds * size.updates * size.rollouts;
  const foundAll = (found: number) =>
    page
      .locator('#found')
      .filter({ hasText: `${found} of ${total} rollouts` })
      .waitFor({ timeout: 600_000 });
  await page.goto(`${view.address}#/rollouts/${experiment}`);
  await timed('the first rollouts in the browser', () => page.waitForSelector('.virtual li a'));
  await timed('scrolling while runs are read', () => scroll(page));
  await timed('then all runs', () => foundAll(total));
  await timed('scrolling through rows that are not read yet', () => scroll(page));
  const field = page.getByLabel('text', { exact: true });
  const searches = { 'def solve': total, thought: total, 'n += 699': size.arms * size.seeds };
  for (const [at, [text, found]] of Object.entries(searches).entries()) {
    await field.fill(text);
    await field.press('Enter');
    if (at === 0) await timed('scrolling while texts are read', () => scroll(page));
    await timed(`${text} in the browser: all`, () => foundAll(found));
  }
  await timed('scrolling through rows whose texts are kept', () => scroll(page));
  const held = pageProcesses().reduce((sum, id) => sum + megabytes(id), 0);
  console.log(`memory of the page: ${held.toFixed(0)} MB`);
  const out = mkdtempSync(join(tmpdir(), 'gq-bench-bundle-'));
  try {
    await timed('bundle of one run', () => measureBundle(join(root, experiment, 'gate0-1'), join(out, 'bundle')));
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
} finally {
  if (given === undefined) rmSync(root, { recursive: true, force: true });
}
