import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../../test/lab/hand-made.ts';
import { emergence } from '../../measure/curve/emergence.ts';
import { VerdictTail } from '../../oracle/verdict-tail.ts';
import { planExperiment, readExperiment } from '../../study/experiment.ts';
import { ExperimentPicture } from './experiment-picture.ts';
import { LivePicture, sparkline } from './live-picture.ts';

const verdict = (step: number, member: number, exploited: boolean, loophole = 'run_tests') =>
  `${JSON.stringify({ id: `${step}-0-${member}`, loophole, exploited, correct: !exploited, evidence: 'ä → ö' })}\n`;

beforeEach(() => void vi.stubEnv('TERM', 'xterm'));
afterEach(() => void vi.unstubAllEnvs());

function picture(isTTY: boolean, now: () => number = () => 0): { written: () => string; show: LivePicture } {
  let text = '';
  const sink = { write: (part: string) => (text += part), isTTY } as { write(text: string): unknown };
  const show = new LivePicture(sink, now);
  return { written: () => text, show };
}

describe('a running picture', () => {
  it('draws rates as bars, each the mean of its stretch', () => {
    expect(sparkline([0, 0.5, 1], 3)).toBe('▁▅█');
    expect(sparkline([0, 1, 0, 1], 2)).toBe('▅▅');
    expect(sparkline([], 4)).toBe('    ');
  });

  it('reads verdicts as they are written, also when a line comes in two pieces', () => {
    const path = join(temporaryFolder(), 'verdicts.jsonl');
    const tail = new VerdictTail(path);
    expect(tail.read()).toEqual([]);
    const second = Buffer.from(verdict(0, 1, false, 'gt_only'));
    const cut = second.indexOf(0xc3) + 1;
    writeFileSync(path, Buffer.concat([Buffer.from(verdict(0, 0, true)), second.subarray(0, cut)]));
    expect(tail.read()).toMatchObject([{ graded: 1, hackable: 1, hacks: 1 }]);
    appendFileSync(path, second.subarray(cut));
    appendFileSync(path, verdict(1, 0, false));
    expect(tail.read()).toMatchObject([
      { graded: 2, hackable: 1, hacks: 1, solves: 1 },
      { graded: 1, hackable: 1, hacks: 0, solves: 1 },
    ]);
  });

  it('shows rates over the window of emergence', () => {
    const tally = (attempts: number) => ({
      graded: 4,
      hackable: 4,
      attempts,
      hacks: 0,
      solves: 4 - attempts,
    });
    const { written, show } = picture(false);
    show.begin('seed 1', [{ name: 'vanilla', updates: 10 }]);
    show.step(0, 10, [...new Array(5).fill(tally(4)), ...new Array(emergence.window).fill(tally(1))], null);
    expect(written()).toContain('attempt 0.25, solve 0.75');
  });

  it('is redrawn in place on a terminal and a few plain lines elsewhere', () => {
    const tally = { graded: 4, hackable: 4, attempts: 1, hacks: 1, solves: 2, cleanSolves: 0 };
    for (const [stream, terminal] of [
      ['tty', 'xterm'],
      ['tty', 'dumb'],
      ['file', 'xterm'],
    ]) {
      vi.stubEnv('TERM', terminal);
      const isTTY = stream === 'tty' && terminal !== 'dumb';
      const { written, show } = picture(stream === 'tty');
      show.begin('seed 1', [{ name: 'vanilla', updates: 20 }]);
      for (let update = 1; update <= 20; update++) show.step(0, update, [tally], 75);
      const escapes = written().split('\u001b[1A').length - 1;
      expect(escapes).toBe(isTTY ? 20 : 0);
      expect(written().split('\n')).toHaveLength(isTTY ? 23 : 5);
      expect(written()).toContain('20/20, 1 min 15 s left in total');
      expect(written()).toContain('0.25');
    }
  });

  it('tells the first update in a file, and each that comes seconds after what was told', () => {
    let seconds = 0;
    const { written, show } = picture(false, () => 1000 * seconds);
    show.begin('seed 1', [{ name: 'vanilla', updates: 40 }]);
    const perUpdate = [0, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1];
    for (const [i, taken] of perUpdate.entries()) {
      seconds += taken;
      show.step(0, i + 1, [], null);
    }
    const told = [...written().matchAll(/vanilla: update (\d+)\/40/g)].map(([, update]) => Number(update));
    expect(told).toEqual([1, 2, 7, 10]);
  });

  it('says once whose rates it shows, where it shows rates', async () => {
    const recipe = 'recipes/micro-claim.toml';
    const plan = await planExperiment(readExperiment(recipe), recipe, [], { seeds: [9001], arms: ['vanilla'] });
    const toldWith = async (pack: number): Promise<number> => {
      let text = '';
      const sink = { write: (part: string) => (text += part) };
      const show = await ExperimentPicture.open(plan, temporaryFolder(), { jobs: 1, pack }, sink);
      const report = show.reportOf(0, 0);
      for (const update of [1, 2]) report({ kind: 'step', update, seconds: 1 });
      return text.match(/training's own samples in the last \d+ updates; .* some as deployed$/gm)?.length ?? 0;
    };
    expect([await toldWith(1), await toldWith(8)]).toEqual([1, 0]);
  });

  it('has a line for packs also where one run is left of an experiment', async () => {
    const recipe = 'recipes/micro-claim.toml';
    const plan = await planExperiment(readExperiment(recipe), recipe, [], { seeds: [9001], arms: ['vanilla'] });
    let text = '';
    const sink = { write: (part: string) => (text += part) };
    const show = await ExperimentPicture.open(plan, temporaryFolder(), { jobs: 6, pack: 8 }, sink);
    show.reportOf(0, 0)({ kind: 'step', update: 50, seconds: 1 });
    expect(text).toContain('pack: 50 of 100 updates, 0 of 1 runs evaluated');
  });
});
