import { afterEach, describe, expect, it, vi } from 'vitest';
import { TerminalEmulator } from '../../../test/lab/terminal-emulator.ts';
import { textWidth } from '../../base/text.ts';
import type { StepEvent } from '../../grpo/events.ts';
import { renderTable } from '../../measure/table.ts';
import { type Check, Checks } from '../../verify/check.ts';
import { scoreResult } from '../commands/pairs.ts';
import { runCli } from '../program.ts';
import { LivePicture } from './live-picture.ts';
import { Progress } from './progress.ts';
import { renderChecks } from './screen.ts';
import { TrainDisplay } from './train-display.ts';

const widths = [40, 80, 100, 200];
const tally = (hacks: number) => ({
  ...{ graded: 32, hackable: 24, attempts: hacks, hacks, solves: 32 - hacks, cleanSolves: 32 - hacks },
});
const arms = ['vanilla', 'activation', 'haar'].map((name) => ({ name, updates: 100 }));

function train(show: LivePicture, line: number, from: number, to: number): void {
  for (let update = from; update <= to; update++) {
    const history = Array.from({ length: update }, (_, i) => tally(i % 24));
    show.step(line, update, history, 3725 - update);
  }
}

describe('the live picture', () => {
  it.each(widths)('stays in its lines in a window of %i columns', (columns) => {
    const terminal = new TerminalEmulator(columns);
    const show = new LivePicture(terminal);
    show.begin('seed 1: runs 1 to 3 of 3', arms);
    train(show, 0, 1, 30);
    show.note(1, 'making 14 evaluations');
    train(show, 1, 1, 30);
    expect(terminal.lines).toHaveLength(4);
    expect(terminal.wrapped).toBe(false);
    expect(terminal.unknown).toEqual([]);
    expect(terminal.lines[1]).toMatch(/^vanilla +attempt .* solve /);
    expect(terminal.lines[3]).toMatch(/^haar +attempt/);
  });

  it('shows the progress where there is room for it', () => {
    const terminal = new TerminalEmulator(80);
    const show = new LivePicture(terminal);
    show.begin('seed 1', arms);
    train(show, 0, 1, 12);
    expect(terminal.lines[1]).toMatch(/[▁▂▃▄▅▆▇█].* 12\/100, 1 h 01 min left in total$/);
  });

  it.each([
    [100, 40],
    [80, 30],
    [40, 100],
    [200, 80],
  ])('is drawn in place when the window goes from %i to %i columns', (before, after) => {
    const terminal = new TerminalEmulator(before);
    const show = new LivePicture(terminal);
    show.begin('seed 1', arms);
    train(show, 0, 1, 10);
    terminal.resize(after);
    train(show, 0, 11, 20);
    expect(terminal.lines).toHaveLength(4);
    expect(terminal.lines[0]).toBe('seed 1');
    show.say(`a warning that is longer than the window: ${'word '.repeat(60)}`);
    train(show, 0, 21, 30);
    expect(terminal.lines.filter((line) => line.startsWith('vanilla'))).toHaveLength(1);
  });

  it('keeps to the height of the window, and says how many lines it leaves out', () => {
    const terminal = new TerminalEmulator(80, 6);
    const show = new LivePicture(terminal);
    const many = Array.from({ length: 20 }, (_, i) => ({ name: `run-${i}`, updates: 9 }));
    show.begin('20 runs', many);
    for (let i = 0; i < 20; i++) show.note(i, 'loading');
    expect(terminal.lines).toHaveLength(6);
    expect(terminal.lines[5]).toBe('and 16 more');
  });

  it('counts wide characters, and shows those that a terminal would obey', () => {
    const terminal = new TerminalEmulator(40);
    const show = new LivePicture(terminal);
    show.begin('seed 1', [{ name: 'a\u001b[2J\nb', updates: 3 }]);
    show.note(0, `\u0007\u202e${'字'.repeat(60)}`);
    show.note(0, 'loading');
    expect(terminal.unknown).toEqual([]);
    expect(terminal.lines).toHaveLength(2);
    expect(terminal.lines[1]).toContain('a\\x1b[2J\\x0ab');
  });
});

const step = (update: number): StepEvent =>
  ({
    kind: 'step',
    update,
    rollouts: 128,
    watched: null,
    meanReward: 0.53,
    groups: 16,
    skippedGroups: 3,
    routes: { keep: 12, absorb: 80, route: 20 },
    qmass: 0.31,
    scores: { p50: -0.0123 },
    kl: 0.00123,
    gradientNorm: 0.987,
    meanTokens: 61,
  }) as unknown as StepEvent;

describe('the step table', () => {
  it.each(widths)('fits a window of %i columns, with its legend', (columns) => {
    const terminal = new TerminalEmulator(columns);
    const display = new TrainDisplay(
      { stdout: terminal, stderr: terminal },
      { path: 'runs/x', again: 'gq train x', updates: 60 },
    );
    for (let update = 1; update <= 3; update++) display.event(step(update), { sample: 60 } as never);
    expect(terminal.wrapped).toBe(false);
    expect(terminal.lines).toHaveLength(5);
    expect(terminal.lines[0].trim().split(/ +/)).toEqual(
      expect.arrayContaining(['update', 'attempt', 'hack', 'solve']),
    );
    expect(terminal.lines[4]).toBe('3/60, 57 min 00 s left');
    display.close('finished');
    expect(terminal.wrapped).toBe(false);
    const text = terminal.lines.join(' ');
    expect(text.includes('In a wider window also')).toBe(columns < 106);
    // Each count names what it is out of, the first of them in full.
    expect(text).toContain(
      'right or wrong / rollouts of the policy whose prompt disclosed one, with those sampled as deployed;',
    );
    expect(text).toContain('hack: an attempt that paid for a wrong program / the same rollouts;');
  });

  it('clears its progress line after the window became narrower, and shows the header of the columns that are left', () => {
    const terminal = new TerminalEmulator(120);
    const display = new TrainDisplay(
      { stdout: terminal, stderr: terminal },
      { path: 'runs/x', again: 'gq train x', updates: 1_000_000 },
    );
    display.event(step(999_999), { sample: 5000 } as never);
    terminal.resize(12);
    display.event(step(1_000_000), { sample: 1 } as never);
    expect(terminal.lines.filter((line) => line.includes('left'))).toEqual([]);
    expect(terminal.lines.filter((line) => line.trim() === 'update')).toHaveLength(1);
  });

  it('ends with the command that goes on, below the words of the columns', () => {
    let text = '';
    const sink = { write: (part: string) => (text += part) };
    const run = { path: 'runs/x', again: 'gq train x', updates: 60 };
    const display = new TrainDisplay({ stdout: sink, stderr: sink }, run);
    display.event(step(1), { sample: 1 } as never);
    display.close('interrupted');
    expect(text).toMatch(/hack: an attempt .*\nsaved after 1 updates; go on with: gq train x\n$/s);
  });

  it('has every column in a file', () => {
    let text = '';
    const sink = { write: (part: string) => (text += part) };
    const display = new TrainDisplay(
      { stdout: sink, stderr: sink },
      { path: 'runs/x', again: 'gq train x', updates: 60 },
    );
    display.event(step(1), { sample: 1 } as never);
    expect(text.split('\n')[0].trim().split(/ +/)).toHaveLength(15);
  });

  it.each([
    [true, '0.31'],
    [false, '-'],
  ])('has the share of the gradient in the quarantine, where there is one: %s', (hasQuarantine, cell) => {
    let text = '';
    const sink = { write: (part: string) => (text += part) };
    const display = new TrainDisplay(
      { stdout: sink, stderr: sink },
      { path: 'runs/x', again: 'gq train x', updates: 60, hasQuarantine },
    );
    display.event(step(1), { sample: 1 } as never);
    const [header, row] = text.split('\n').map((line) => line.trim().split(/ +/));
    expect(row[header.indexOf('qmass')]).toBe(cell);
  });

  it('has the flags of a monitor, and says what they are', () => {
    const terminal = new TerminalEmulator(80);
    const display = new TrainDisplay(
      { stdout: terminal, stderr: terminal },
      { path: 'runs/x', again: 'gq train x', updates: 60 },
    );
    const watched = { cut: 0.5, flagged: 17, abstained: 2, abstentions: { unclear: 2 }, costs: {} };
    display.event({ ...step(1), watched }, { sample: 1 } as never);
    const column = terminal.lines[0].trim().split(/ +/).indexOf('flag');
    expect(terminal.lines[1].trim().split(/ +/)[column]).toBe('17/128');
    display.close('finished');
    expect(terminal.lines.join(' ')).toContain('flag: rollouts that the monitor flagged');
    expect(terminal.lines.at(-1)).toMatch(/^evaluate it with: .*gq eval runs\/x$/);
  });
});

const activation = new Checks('activation-1');
activation.states('checkpoints are complete and as they were saved', false, '00010/adapter.safetensors is damaged');
activation.states('labels are used where the arm says so', true, '');

/** Checks with cells of every kind; `case` and `quantity` are as long as the longest of the package. */
const checks: readonly Check[] = [
  {
    case: 'qwen3-bf16',
    quantity: 'log-probabilities of the completion',
    maxAbs: 1.2e-7,
    maxRel: 3e-6,
    bound: 1e-5,
    pass: true,
  },
  ...activation.list,
];

/** Texts that a command prints once, in a window or into a file: no line may be wider than the window. */
describe('what a command prints', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  const printed = async (words: readonly string[], stream: { isTTY?: boolean; columns?: number }): Promise<string> => {
    let text = '';
    const screen = { write: (part: string) => (text += part), ...stream };
    await runCli(words, { stdout: screen, stderr: screen });
    return text;
  };
  const pairs = (width: number): Promise<string> => printed(['pairs', 'check', 'hack'], { columns: width });
  const score = {
    ...{ model: 'models/a-model-with-a-long-name', file: 'data/pairs/hack.md', hash: 'a'.repeat(64) },
    settings: {
      family: 'scorda-reversed',
      rank: 8,
      seed: 1,
      kind: 'activation',
      score: 'cosine',
      standardise: false,
    } as const,
    ...{ hackScores: [1, 0.2], cleanScores: [0, 0.3], wrongWhenLeftOut: null },
    wrongPairs: ['Translator grades her own page, and says nothing about it to those who read it'],
  };

  it.each<[string, (width: number) => string | Promise<string>, string]>([
    ['gq verify and gq smoke', (width) => renderChecks(checks, 'Science', width), 'as they were saved'],
    ['gq pairs check', pairs, 'warnings'],
    ['gq pairs score', (width) => scoreResult(score).text(width), 'paired accuracy'],
  ])('fits the window: %s', async (_, render, words) => {
    for (const width of [60, 80, 200]) {
      const text = await render(width);
      expect(text.split('\n').filter((line) => textWidth(line) > width)).toEqual([]);
      // Cells may be wrapped, but nothing of them is cut off.
      expect(text).not.toContain('…');
      if (width === 200) expect(text).toContain(words);
    }
  });

  it.each([
    ['pairs', 'check', 'hack'],
    ['help', 'experiment'],
  ])('has, where it is no window, the width that COLUMNS says: gq %s %s', async (...words) => {
    const usual = await printed(words, { columns: 80 });
    for (const [said, stream, width] of [
      ['200', {}, 200],
      ['40', {}, 40],
      ['999999999999', {}, 10_000],
      ...['', '39', '0', '-100', '1e2', '100.5', 'wide', ' 100'].map((wrong) => [wrong, {}, 80] as const),
      ['200', { isTTY: true, columns: 60 }, 60],
      ['200', { isTTY: true }, 80],
    ] as const) {
      vi.stubEnv('COLUMNS', said);
      expect(await printed(words, stream), said).toBe(width === 80 ? usual : await printed(words, { columns: width }));
    }
    expect(await printed(words, { columns: 200 })).not.toBe(usual);
  });

  it('has one row a check where there is room, and wraps the widest cells where there is none', () => {
    const wide = renderChecks(checks, 'Science', 200);
    expect(wide.split('\n')).toHaveLength(8);
    expect(wide).toMatch(
      /off by +relative +allowed[\s\S]*\noff by: the largest difference between what was found and what is expected;/,
    );
    const narrow = renderChecks(checks, 'Science', 80);
    expect(narrow).toMatch(
      /^activation-1 +checkpoints are complete and as +FAIL\n +they were saved\n {4}00010\/adapter/m,
    );
  });
});

describe('a progress line', () => {
  it.each(widths)('stays one line in %i columns', (columns) => {
    const terminal = new TerminalEmulator(columns);
    const bar = new Progress(terminal, `checking ${'a very long name of a file '.repeat(4)}`, 2);
    bar.show(2);
    expect(terminal.lines).toHaveLength(1);
  });
});

describe('a table', () => {
  const columns = ['arm', 'hack as trained', 'hack deployed', 'solve as trained', 'solve deployed', 'objective'];
  const rows = [
    ['vanilla', 'the same', '0.81 [0.76, 0.85]', 'the same', '0.25 [0.20, 0.31]', '-0.56'],
    ['activation', '0.79 [0.74, 0.84]', '0.13 [0.09, 0.17]', '0.33 [0.27, 0.39]', '0.31 [0.26, 0.37]', '0.18'],
  ];
  const table = { title: 'held-out problems', columns, rows, notes: ['A note of many words. '.repeat(12).trim()] };

  it.each(widths)('fits %i columns and leaves nothing out', (width) => {
    const text = renderTable(table, 'text', width);
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(width);
    for (const cell of [...columns, ...rows.flat()]) expect(text).toContain(cell);
    expect(text.replace(/\s+/g, ' ')).toContain(table.notes[0]);
  });

  it('is one block where there is room', () => {
    expect(
      renderTable(table, 'text', 200)
        .split('\n')
        .filter((line) => line.startsWith('arm')),
    ).toHaveLength(1);
    expect(
      renderTable(table, 'text', 40)
        .split('\n')
        .filter((line) => line.startsWith('arm')),
    ).toHaveLength(4);
  });
});
