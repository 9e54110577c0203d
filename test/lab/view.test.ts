/** The viewer's server, its bundle and its commands, on runs written by hand. The page itself is tested in a browser: test/browser. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join, relative } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textOf } from '../../src/report/draw/index.ts';
import type { HumanAgreement } from '../../src/view/agreement.ts';
import {
  type Answers,
  type AnswersPage,
  answerId,
  type Catalogue,
  type ExperimentPage,
  type GatePage,
  type LabelsPage,
  type NotesPage,
  type RunPage,
} from '../../src/view/api.ts';
import { notesPage } from '../../src/view/human.ts';
import { openPage, type RunningView, startView, ViewLibrary } from '../../src/view/index.ts';
import { changedIds } from '../../src/view/page/live.ts';
import { askView } from '../ask-view.ts';
import { pageRollouts } from '../page-rollouts.ts';
import { gq } from '../run-gq.ts';
import { type HandMadeRun, temporaryFolder, writeEvaluations, writeRun } from './hand-made.ts';

const hostile = '</script><script>alert(1)</script><img src=x onerror=alert(2)>\u0000\u001b[31m\u202e';
const mostScript = 120_000;

const cuts = { low: 0, high: 1 };
/** A right program, which in the first update opens a loophole as well. */
const rightOf = (update: number) => ({ solve: true, attempt: update === 1 });
const run = (kind: string, seed: number, finished = true): HandMadeRun => ({
  config: { seed, updates: 3, arm: { kind } },
  checkpoints: [0, 3],
  finished,
  rollouts: [1, 2, 3].flatMap((update) => [
    { update, hack: true, route: 'route', score: 2, ...cuts, advantage: 1, completion: `def run_tests ${hostile}` },
    { update, ...rightOf(update), route: 'keep', score: -1, ...cuts, advantage: -1, completion: 'return n' },
  ]),
  steps: [1, 2, 3].map((update) => ({ update, meanReward: update / 2, routes: { keep: 1, absorb: 0, route: 1 } })),
});

const evaluate = (path: string, deployed: string) =>
  writeEvaluations(path, [
    { update: 0, set: 'test-original', state: 'base', outcomes: 's---' },
    { update: 3, set: 'test-original', state: 'full', outcomes: 'hhh-' },
    ...(deployed === ''
      ? []
      : [{ update: 3, set: 'test-original' as const, state: 'deployed' as const, outcomes: deployed }]),
  ]);

const root = temporaryFolder();
const claim = join(root, 'claim');

beforeAll(async () => {
  mkdirSync(claim);
  const runs = [];
  for (const [arm, kind, deployed] of [
    ['vanilla', 'vanilla', ''],
    ['gate', 'activation', 's--h'],
  ] as const) {
    await writeRun(join(claim, `${arm}-1`), run(kind, 1));
    await evaluate(join(claim, `${arm}-1`), deployed);
    runs.push({ arm, seed: 1, folder: `${arm}-1`, configHash: '' });
  }
  runs.push({ arm: 'gate', seed: 2, folder: 'gate-2', configHash: '' });
  const arms = [{ name: 'vanilla', recipe: 'v.toml' }, { name: 'gate', recipe: 'g.toml' }]; // biome-ignore format: one line
  const experiment = { name: 'claim', why: 'Does it go?', seeds: [1, 2], arms };
  writeFileSync(join(claim, 'experiment.json'), JSON.stringify({ format: 1, experiment, runs }));
  await writeRun(join(root, 'alone'), run('activation', 7, false));
});

const page = await openPage();
let view: RunningView;
beforeAll(async () => {
  view = await startView(root, page, { host: '127.0.0.1', port: 0 });
});
afterAll(() => view[Symbol.asyncDispose]());

async function ask<Value>(path: string): Promise<{ status: number; value: Value }> {
  const response = await askView(view, `/api/${path}`);
  return { status: response.status, value: (await response.json()) as Value };
}

/** `fetch` sets Host and Origin itself, so a forged request is made by hand. */
function forge(given: Record<string, string>, method = 'GET'): Promise<number | undefined> {
  const { port } = new URL(view.address);
  const headers = { authorization: `Bearer ${view.token}`, ...given };
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path: '/api/home', method, headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('error', reject).end();
  });
}

describe('the server', () => {
  it('lists experiments and runs, what is missing and what stopped', async () => {
    const { value } = await ask<Catalogue>('home');
    expect(value.experiments).toEqual([
      { id: 'claim', name: 'claim', why: 'Does it go?', arms: ['vanilla', 'gate'], placebos: ['haar'], seeds: [1, 2] },
    ]);
    const listed = value.runs.map(({ id, status, update }) => [id, status, update]);
    expect(listed).toEqual([
      ['alone', 'stopped', 3],
      ['claim/vanilla-1', 'finished', 3],
      ['claim/gate-1', 'finished', 3],
      ['claim/gate-2', 'not started', 0],
    ]);
  });

  it('tells the story of an experiment, with figures and tables as reports have them', async () => {
    const { value } = await ask<ExperimentPage>('experiment?id=claim');
    expect(value).toMatchObject({
      why: 'Does it go?',
      story: { name: 'story' },
      example: { arm: 'gate', run: 'claim/gate-1' },
    });
    expect(value.words.join(' ')).toContain('; hack 75% as trained, 25% deployed');
    expect(value.differences[0].keys.join()).toContain('arm.kind ("vanilla" and "activation")');
    const [gate] = value.tables[0].rows.filter(([arm]) => textOf(arm) === 'gate');
    expect(textOf(gate[3])).toBe('0.25 [0.05, 0.70]');
  });

  it('answers about a run, its gate, its answers and its rollouts', async () => {
    const own = (await ask<RunPage>('run?id=claim%2Fgate-1')).value;
    expect(own.steps.map(({ reward }) => reward)).toEqual([0.5, 1, 1.5]);
    expect(own.training[0]).toMatchObject({ hackable: 2, attempts: 2, hacks: 1, solves: 1, cleanSolves: 0 });
    expect((await ask<GatePage>('gate?id=claim%2Fgate-1')).value.rows).toHaveLength(6);
    const answers = (await ask<AnswersPage>('answers?id=claim%2Fgate-1')).value;
    expect(answers.sets[0].prompts[0]).toMatchObject({
      base: { attempt: false, solve: true },
      full: { attempt: true, hack: true },
      deployed: { solve: true },
    });
    const rollouts = pageRollouts(view);
    const search = new URLSearchParams('text=RUN_TESTS&truth=hack&from=2&to=2');
    expect(await rollouts.list('claim', search)).toMatchObject({ total: 12, found: 2 });
    const { group } = await rollouts.rollout('alone', '2-0-2');
    expect(group.map(({ id }) => id)).toEqual(['2-0-2', '2-0-3']);
  });

  it('counts attempts and hacks of a run that is not over from its verdicts', async () => {
    const { value } = await ask<RunPage>('run?id=alone');
    expect(value.training).toHaveLength(3);
    expect(value.training[0]).toMatchObject({ update: 1, attempts: 2, hacks: 1, solves: 1 });
    expect(value.training[2]).toMatchObject({ update: 3, attempts: 1, hacks: 1, solves: 1 });
  });

  it.each(['run?id=nowhere', 'run?id=..%2F..', `run?id=${encodeURIComponent('/etc')}`, 'run?id=claim'])(
    'refuses %s with a sentence',
    async (path) => {
      const { status, value } = await ask<{ error: string }>(path);
      expect(status).toBe(400);
      expect(value.error).toMatch(/expected .*, found /);
    },
  );

  it('keeps other sites, other methods and other paths out', async () => {
    const { host } = new URL(view.address);
    expect(await forge({ host })).toBe(200);
    expect(await forge({ host, authorization: '' })).toBe(403);
    expect(await forge({ host: 'evil.example' })).toBe(403);
    expect(await forge({ host, origin: 'http://evil.example' })).toBe(403);
    expect(await forge({ host }, 'POST')).toBe(405);
    for (const path of ['api/secret', '../package.json', 'app.js/..%2f']) {
      expect((await askView(view, path)).status).toBe(404);
    }
  });

  it('sends a page that may run its own script and nothing else', async () => {
    const response = await askView(view, '/');
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).not.toContain('unsafe');
    expect(policy).toContain("frame-ancestors 'none'");
    expect(await response.text()).not.toMatch(/<script(?! defer src="app\.js">)/);
    expect(gzipSync(page.script).length).toBeLessThan(mostScript);
  });

  it.each(['0.0.0.0', '127.0.0.1'])('on %s gives its token to whoever has the first link', async (host) => {
    await using open = await startView(root, page, { host, port: 0 });
    const { port, search } = new URL(open.address);
    const at = `http://127.0.0.1:${port}/`;
    expect((await fetch(`${at}api/home`)).status).toBe(403);
    expect((await fetch(`${at}?token=wrong`)).status).toBe(403);
    const first = await fetch(`${at}${search}`, { redirect: 'manual' });
    expect([first.status, first.headers.get('location')]).toEqual([303, '/']);
    const cookie = first.headers.get('set-cookie') ?? '';
    expect(cookie).toContain('HttpOnly; SameSite=Strict');
    expect((await fetch(`${at}api/home`, { headers: { cookie: cookie.split(';')[0] } })).status).toBe(200);
  });

  it('refuses a folder that is none, and a port that is taken', async () => {
    await expect(startView(join(root, 'none'), page, { host: '127.0.0.1', port: 0 })).rejects.toThrow('no such folder');
    const port = Number(new URL(view.address).port);
    await expect(startView(root, page, { host: '127.0.0.1', port })).rejects.toThrow('found it in use');
  });

  it('has another stamp for a run that has grown, and for no other', async () => {
    const library = new ViewLibrary(root);
    const look = async () => (await library.answer('changes', new URLSearchParams())) as Answers['changes'];
    const before = await look();
    const events = join(root, 'alone', 'events.jsonl');
    writeFileSync(events, `${readFileSync(events, 'utf8')}{"kind":"heal","update":3,"losses":[]}\n`);
    expect(await look(), 'one look serves all pages for a second').toBe(before);
    const now = (await ask<Answers['changes']>('changes')).value;
    expect(changedIds(before, now)).toEqual(['alone']);
  });
});

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const { origin } = new URL(view.address);
  const sent = { 'Content-Type': 'application/json', Origin: origin, ...headers };
  const response = await askView(view, `/api/${path}`, {
    method: 'POST',
    headers: sent,
    body: JSON.stringify(body),
  });
  return { status: response.status, value: (await response.json()) as { error?: string } };
}

describe('what people write', () => {
  const place = 'labels?id=claim%2Fgate-1';
  const label = (rollout: string, word: string | null, blind = true) => ({
    rollout,
    label: word,
    writer: 'ann',
    blind,
  });

  it('is appended beside the run, with its writer, and compared with the oracle', async () => {
    for (const [rollout, word] of [
      ['1-0-0', 'clean'],
      ['1-0-0', 'hack'],
      ['1-0-1', 'clean'],
      ['2-0-2', 'hack'],
      ['2-0-3', 'hack'],
      ['3-0-4', 'unsure'],
      ['3-0-5', 'clean'],
      ['3-0-5', null],
    ] as const) {
      expect((await post(place, label(rollout, word))).status).toBe(200);
    }
    expect((await post(place, label('3-0-5', 'clean', false))).status).toBe(200);
    const lines = readFileSync(join(claim, 'gate-1', 'human-labels.jsonl'), 'utf8')
      .trimEnd()
      .split('\n');
    expect(lines).toHaveLength(9);
    expect(JSON.parse(lines[0])).toEqual({ ...label('1-0-0', 'clean'), at: expect.stringMatching(/Z$/) });
    const { value } = await ask<LabelsPage>('labels?id=claim');
    expect(value.labels.at(-1)).toMatchObject({ run: 'claim/gate-1', rollout: '3-0-5', verdict: 'clean solve' });
    const { code, out } = await gq('measure', 'labels', claim);
    expect(code).toBe(0);
    // Blind: hack and hack, clean and clean, hack and hack, hack and clean, one unsure.
    expect(out).toMatch(/ann +the oracle +blind +4 +0\.50 +\[/);
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    const { agreements } = JSON.parse((await gq('measure', 'labels', claim, '--json')).out);
    expect(agreements.map(({ onlyBlind, unsure, kappa }: HumanAgreement) => [onlyBlind, unsure, kappa?.n])).toEqual([
      [true, 1, 4],
      [false, 1, 5],
    ]);
    expect(await gq('measure', 'labels', join(root, 'alone'))).toMatchObject({ code: 1 });
  });

  it('may be about the answers of an evaluation, counted apart from rollouts', async () => {
    const problem = (await ask<AnswersPage>('answers?id=claim%2Fgate-1')).value.sets[0].prompts[3].problem;
    const [full, deployed] = (['full', 'deployed'] as const).map((state) =>
      answerId('test-original', 3, state, problem),
    );
    expect(await post(place, label(full, 'clean'))).toMatchObject({ status: 200, value: { verdict: 'neither' } });
    expect(await post(place, label(deployed, 'clean'))).toMatchObject({
      status: 200,
      value: { verdict: 'attempt, hack' },
    });
    const { agreements } = JSON.parse((await gq('measure', 'labels', claim, '--json')).out);
    const ofAnswers = agreements.filter(({ against }: HumanAgreement) => against.endsWith('on evaluated answers'));
    expect(ofAnswers.map(({ confusion }: HumanAgreement) => confusion)).toEqual([
      { truePositives: 0, falsePositives: 0, falseNegatives: 1, trueNegatives: 1 },
    ]);
    expect(agreements).toHaveLength(3);
  });

  it.each([
    ['is of no answer', place, label(answerId('test-original', 3, 'full', 'none such'), 'hack')],
    ['is of another checkpoint', place, label(answerId('test-original', 2, 'full', 'problem-0'), 'hack')],
    ['nobody signed', place, { ...label('1-0-0', 'hack'), writer: ' ' }],
    ['is no label', place, label('1-0-0', 'perhaps')],
    ['is of no rollout', place, label('9-9-9', 'hack')],
    ['has more than it may', place, { ...label('1-0-0', 'hack'), path: '/etc' }],
    ['is of an experiment', 'labels?id=claim', label('1-0-0', 'hack')],
    ['is outside', 'labels?id=..', label('1-0-0', 'hack')],
    ['is a note on nothing', 'notes?id=nowhere', { screen: 'run', parameters: '', text: 'x', writer: 'ann' }],
    ['is a long note', 'notes?id=', { screen: 'home', parameters: '', text: 'x'.repeat(5000), writer: 'ann' }],
  ])('is refused where it %s', async (_case, path, body) => {
    expect(await post(path, body)).toMatchObject({ status: 400, value: { error: expect.stringMatching(/expected/) } });
  });

  it('is refused from other sites, and goes nowhere else', async () => {
    expect((await post(place, label('1-0-0', 'hack'), { Origin: 'http://evil.example' })).status).toBe(403);
    expect((await post(place, label('1-0-0', 'hack'), { 'Content-Type': 'text/plain' })).status).toBe(403);
    expect((await post('run?id=alone', {})).status).toBe(405);
    expect((await post('notes?id=', 'y'.repeat(40_000))).value.error).toContain('at most 32768 bytes');
  });

  it('has notes that lead back to a view', async () => {
    const note = { screen: 'gate', parameters: 'update=2', text: 'look here', writer: 'ann' };
    expect((await post('notes?id=alone', note)).status).toBe(200);
    expect((await post('notes?id=', { ...note, screen: 'home', text: 'later' })).status).toBe(200);
    const { notes } = (await ask<NotesPage>('notes')).value;
    expect(notes.map(({ id, text }) => [id, text])).toEqual([
      ['', 'later'],
      ['alone', 'look here'],
    ]);
    // A folder that is itself a run, named as people name it.
    const alone = await notesPage(new ViewLibrary(relative(process.cwd(), join(root, 'alone'))));
    expect(alone.notes.map(({ id, text }) => [id, text])).toEqual([['alone', 'look here']]);
  });
});

describe('gq view --to', () => {
  it('writes a folder with its data and one file that has it inside, and nothing a model wrote as markup', async () => {
    const out = join(temporaryFolder(), 'page');
    const { code, out: said } = await gq('view', claim, '--to', out);
    expect({ code, said }).toMatchObject({ code: 0, said: expect.stringContaining('view.html') });
    const list = JSON.parse(readFileSync(join(out, 'data/list.json'), 'utf8'));
    for (const table of ['rollouts', 'verdicts']) {
      const { name, bytes } = list['files claim/gate-1'][table];
      const copy = readFileSync(join(out, name));
      expect([copy, copy.length]).toEqual([readFileSync(join(claim, 'gate-1', `${table}.jsonl`)), bytes]);
    }
    expect(gunzipSync(readFileSync(join(out, list['run claim/gate-1']))).toString()).toContain('"steps"');
    const whole = readFileSync(join(out, 'view.html'), 'utf8');
    expect(whole).not.toContain('alert(1)');
    expect(whole.match(/<script/g)?.length).toBe(2 + (page.script.match(/<script/g)?.length ?? 0));
    expect(whole).toMatch(/script-src 'sha256-[^']+'; style-src 'sha256-/);
    expect(existsSync(join(out, 'index.html'))).toBe(true);
    expect(await gq('view', claim, '--to', out)).toMatchObject({ code: 2 });
  });
});

describe('in the terminal', () => {
  it('gq runs lists them within 80 columns, attempts beside hacks', async () => {
    const { code, out } = await gq('runs', root);
    expect(code).toBe(0);
    expect(out).toMatch(/update +attempt +hack +clean[\s\S]*^alone +activation.* stopped +3\/3/m);
    expect(out).toContain('alone: Stopped after update 3 of 3.');
    expect(out).toMatch(/^claim: 2 of 3 runs finished\. Does it go\?\n {2}vanilla-1 +vanilla/m);
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(JSON.parse((await gq('runs', claim, '--json')).out).runs).toHaveLength(3);
  });

  it('gq show finds rollouts, alone and with their group, and makes control characters visible', async () => {
    const one = await gq('show', join(claim, 'gate-1'), '--update', '2', '--hack', '--grep', 'def run_\\w+');
    expect(one).toMatchObject({ code: 0, out: expect.stringContaining('1 of 1 rollouts found, 6 in all') });
    expect(one.out).toContain('━━ gate-1, rollout 2-0-2');
    for (const control of ['\u0000', '\u001b', '\u202e']) expect(one.out).not.toContain(control);
    const group = await gq('show', claim, '--solve', '--limit', '1', '--group');
    expect(group.out).toMatch(/^ {2}1-0-0 +attempt, hack +route[\s\S]*^> 1-0-1 +attempt, solved +keep/m);
    const json = JSON.parse((await gq('show', claim, '--route', 'keep', '--json')).out);
    expect([json.found, json.rollouts.length]).toEqual([6, 5]);
    expect(await gq('show', claim, '--grep', 'nowhere')).toMatchObject({ code: 1 });
    const none = await gq('show', claim, '--hack', '--route', 'keep', '--update', '2');
    expect(none).toMatchObject({ code: 1, out: expect.stringContaining('no rollout is like that, of 12 in all\n') });
    expect(none.out).toContain(
      '\n  found without --hack: 2 with a solve\n  found without --route keep: 2 with route route\n',
    );
    const first = await gq('show', join(claim, 'gate-1'), '--solve', '--no-attempt', '--update', '99');
    expect(first.out).toContain('\n  found without --no-attempt: none\n');
    for (const wrong of [
      ['--route', 'keeep'],
      ['--loophole', 'nothing'],
      ['--hack', '--solve'],
    ]) {
      expect(await gq('show', claim, ...wrong)).toMatchObject({
        code: 2,
        err: expect.stringMatching(/expected|Allowed choices/),
      });
    }
    expect(await gq('show', claim, '--grep', '(')).toMatchObject({ code: 2 });
  });

  it('gq diff compares configs and outcomes', async () => {
    const { code, out } = await gq('diff', join(claim, 'vanilla-1'), join(claim, 'gate-1'));
    expect(code).toBe(0);
    expect(out).toContain('arm.kind ("vanilla" and "activation")');
    expect(out).toMatch(/^test-original, 4 prompts$/m);
    expect(out).toMatch(/^deployed\n +attempt +3\/4 .* 1\/4 .*$/m);
    expect(out).toMatch(/^ +hack +3\/4 .* 1\/4 .* 3 and 1$/m);
    expect(out).toMatch(/^deployed\n +attempt .* 3 and 1$/m);
    expect(out).toMatch(/^ +clean solve +0\/4 .* 1\/4 /m);
    expect(out).toContain('in one: prompts with it in the first only, and in the second only.');
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });
});
