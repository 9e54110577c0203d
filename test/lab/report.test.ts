/** `gq results --html` on runs written by hand: evaluated or not, one or many, with whatever a model may write in them. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Waiting } from '../../src/cli/terminal/progress.ts';
import { gq } from '../run-gq.ts';
import { type HandMadeRun, temporaryFolder, writeEvaluations, writeRun } from './hand-made.ts';

const hostile = `</pre><script>alert(1)</script><img src=x onerror=alert(2)>"'&\u0000\u001b[31m`;

/** Twenty updates of a gate that sees the hack; the first hack has hostile markup in every text that a model or a grader writes. */
const gated = (seed = 1, written = hostile): HandMadeRun => ({
  config: { seed, updates: 20, arm: { kind: 'activation' } },
  checkpoints: [0, 20],
  rollouts: Array.from({ length: 20 }, (_, update) => [
    {
      update: update + 1,
      hack: update >= 8,
      route: 'route',
      score: 2,
      low: 0,
      high: 1,
      prompt: `prompt ${written}`,
      completion: `completion ${written}`,
    },
    { update: update + 1, solve: true, route: 'keep', score: -1, low: 0, high: 1, completion: written },
  ]).flat(),
  steps: Array.from({ length: 20 }, (_, update) => ({
    update: update + 1,
    qmass: 0.5,
    routes: { keep: 1, absorb: 0, route: 1 },
  })),
});

/** Every element of a page in order, but those of highlighted and marked texts; markup that a model wrote would add one. */
const elementsOf = (html: string): string[] =>
  [...html.matchAll(/<[a-z][a-z0-9]*/gi)]
    .map(([name]) => name)
    .filter((name) => !/^<(?:span|mark|ins|del)$/.test(name));

describe('gq results --html of a run', () => {
  it('that nobody evaluated: training, gate, rollouts, and which commands evaluate it', async () => {
    const run = join(temporaryFolder(), 'a run');
    await writeRun(run, gated());
    const { code, out, err } = await gq('results', run, '--html');
    // A slow machine says what it is busy with.
    const warned = err.replace(/^(?:reading .*|drawing the report)\n/gm, '');
    expect({ code, warned }).toEqual({ code: 0, warned: '' });
    const file = join(run, 'report.html');
    expect(out.split('\n')[0]).toBe(file);
    expect(out).toContain('a run has not been evaluated');
    expect(out).toContain(`  gq eval '${run}'\n  gq eval '${run}' --curve\n`);
    const html = readFileSync(file, 'utf8');
    for (const part of [
      'a run has not been evaluated',
      `gq eval &#39;${run}&#39;`,
      'Attempt, hack and solve while training',
      'the gate as a classifier',
      'by window of updates',
      'scores against the cuts',
      'the first hack (activation)',
      'a kept rollout (activation)',
      `gq results &#39;${run}&#39; --html`,
    ]) {
      expect(html).toContain(part);
    }
    expect(html).not.toContain('as trained and deployed</h2>');
  });

  it('escapes what a model wrote, and the title', async () => {
    const run = temporaryFolder();
    await writeRun(run, gated());
    expect(await gq('results', run, '--html', '--title', hostile)).toMatchObject({ code: 0 });
    const html = readFileSync(join(run, 'report.html'), 'utf8');
    const escaped =
      '&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt;&quot;&#39;&amp;';
    expect(html).toContain(`<h1>${escaped}`);
    const text = html.replace(/<\/?(?:span|mark|ins|del)[^>]*>/g, '');
    expect(text).toContain(`<pre>prompt ${escaped}`);
    expect(text).toContain(`completion ${escaped}`);
    const plain = temporaryFolder();
    await writeRun(plain, gated(1, 'nothing special'));
    await gq('results', plain, '--html');
    expect(elementsOf(html)).toEqual(elementsOf(readFileSync(join(plain, 'report.html'), 'utf8')));
    for (const control of ['\u0000', '\u001b']) expect(html).not.toContain(control);
    expect(html).toContain("default-src 'none'");
  });

  it('that was evaluated asks for nothing', async () => {
    const run = temporaryFolder();
    await writeRun(run, gated());
    await writeEvaluations(run, [
      { update: 0, set: 'test-original', state: 'base', outcomes: 's---' },
      { update: 20, set: 'test-original', state: 'full', outcomes: 'hhh-' },
      { update: 20, set: 'test-original', state: 'deployed', outcomes: 's---' },
    ]);
    const { out } = await gq('results', run, '--html', '--json');
    expect(JSON.parse(out)).toMatchObject({
      file: join(run, 'report.html'),
      runs: [{ arm: 'activation', seed: 1, path: run }],
      missing: [],
    });
    const html = readFileSync(join(run, 'report.html'), 'utf8');
    expect(html).toContain('as trained: attempt, hack');
    expect(html).not.toContain('not been evaluated');
  });

  it('that has done nothing yet still has a report', async () => {
    const run = temporaryFolder();
    await writeRun(run, { finished: false });
    const { code, err } = await gq('results', run, '--html');
    expect(code).toBe(0);
    expect(err).toContain('is not finished (0 updates saved)');
  });
});

describe('gq results --html of an experiment', () => {
  it('names every run, unfolds no gate, and writes where it is told', async () => {
    const directory = temporaryFolder();
    const runs = [];
    for (const seed of [1, 2]) {
      await writeRun(join(directory, `gate-${seed}`), gated(seed));
      runs.push({ arm: 'gate', seed, folder: `gate-${seed}`, configHash: '' });
    }
    runs.push({ arm: 'gate', seed: 3, folder: 'gate-3', configHash: '' });
    const experiment = { name: 'made-by-hand', seeds: [1, 2, 3], arms: [{ name: 'gate', recipe: 'none.toml' }] };
    writeFileSync(join(directory, 'experiment.json'), JSON.stringify({ format: 1, experiment, runs }));
    const file = join(directory, 'kept', 'page.html');
    const { code, err, out } = await gq('results', directory, '--html', '--out', file);
    expect(code).toBe(0);
    expect(err).toContain(`not started yet in ${directory}: gate-3`);
    expect(out).toContain('gate-1, gate-2 have not been evaluated');
    const html = readFileSync(file, 'utf8');
    expect(html).toContain('Not started: gate-3.');
    expect(html).toContain('<h1>made-by-hand</h1>');
    expect(html.match(/<details><summary>gate, seed [12]<\/summary>/g)).toHaveLength(2);
    expect(existsSync(join(directory, 'report.html'))).toBe(false);
  });

  it('a folder without runs is a wrong call', async () => {
    expect(await gq('results', temporaryFolder(), '--html')).toMatchObject({ code: 2 });
  });
});

describe('the file of a report', () => {
  it('is overwritten when gq made it; another is not, unless forced', async () => {
    const run = temporaryFolder();
    await writeRun(run, gated());
    const file = join(run, 'report.html');
    writeFileSync(file, '<h1>my own notes</h1>');
    const refused = await gq('results', run, '--html');
    expect(refused.code).toBe(2);
    expect(refused.err).toContain('a file that gq did not make');
    expect(refused.err).toContain('--force');
    expect(readFileSync(file, 'utf8')).toBe('<h1>my own notes</h1>');
    expect(await gq('results', run, '--html', '--force', '--title', 'first')).toMatchObject({ code: 0 });
    expect(await gq('results', run, '--html', '--title', 'second')).toMatchObject({ code: 0 });
    expect(readFileSync(file, 'utf8')).toContain('<h1>second</h1>');
  });

  it('cannot be a folder, forced or not', async () => {
    const run = temporaryFolder();
    await writeRun(run, gated());
    mkdirSync(join(run, 'taken'));
    for (const force of [[], ['--force']]) {
      const { code, err } = await gq('results', run, '--html', '--out', join(run, 'taken'), ...force);
      expect(code).toBe(2);
      expect(err).toContain('found a folder');
    }
  });
});

describe('waiting', () => {
  const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

  it('is silent while work is short, and says what is done when it is long', async () => {
    let text = '';
    const sink = { write: (part: string) => (text += part) };
    {
      using short = new Waiting(sink, { first: 1000 });
      short.on('reading');
    }
    await sleep(20);
    expect(text).toBe('');
    {
      using long = new Waiting(sink, { first: 10, every: 10 });
      long.on('reading a');
      await sleep(100);
      long.on('reading b');
      await sleep(100);
    }
    const after = text;
    await sleep(40);
    expect(text).toBe(after);
    expect(text.split('\n')[0]).toBe('reading a');
    expect(text).toContain('reading b\n');
  });

  it('says nothing before work has said what it is at, and then a line that a terminal shows as text', async () => {
    let text = '';
    using long = new Waiting({ write: (part: string) => (text += part) }, { first: 1, every: 1 });
    await sleep(20);
    expect(text).toBe('');
    long.on('reading \u001b[2J');
    await sleep(20);
    // Once, however long it takes.
    expect(text).toBe('reading \\x1b[2J\n');
  });

  it('says what is done by work that gives timers no turn, too, and then not again at once', () => {
    let text = '';
    using waiting = new Waiting({ write: (part: string) => (text += part) }, { first: 20, every: 60_000 });
    waiting.on('first');
    const start = performance.now();
    while (performance.now() - start < 30);
    waiting.on('second');
    waiting.on('third');
    expect(text).toBe('second\n');
  });
});
