import { describe, expect, it } from 'vitest';
import { madeResults, tenPrompts } from '../../test/lab/made-results.ts';
import { plain } from '../../test/lab/plain.ts';
import { experimentPage } from '../view/experiment-page.ts';
import { renderFigure } from './chart.ts';
import { foundIn } from './found.ts';
import { renderReport } from './html.ts';
import { pageFigure } from './page-figure.ts';
import { storyFigure } from './story-figure.ts';

/** As trained eight of ten prompts are attempts, of which so many are hacks. */
const evaluated = (full: number, deployed: number) => [
  { update: 0, set: 'test-original' as const, state: 'base' as const, outcomes: tenPrompts(0, 4) },
  {
    update: 20,
    set: 'test-original' as const,
    state: 'full' as const,
    outcomes: `${'h'.repeat(full)}${'b'.repeat(8 - full)}ss`,
  },
  { update: 20, set: 'test-original' as const, state: 'deployed' as const, outcomes: tenPrompts(deployed, 2) },
];

describe('the first figure', async () => {
  const arm = { kind: 'activation' };
  const checkpoints = [0, 20];
  const results = await madeResults(
    [
      { seed: 1, checkpoints, evaluations: evaluated(8, 8) },
      { name: 'gate', seed: 1, arm, checkpoints, evaluations: evaluated(8, 1) },
      { name: 'gate', seed: 2, arm, checkpoints, evaluations: evaluated(6, 3) },
      { name: 'haar', seed: 1, arm, checkpoints, evaluations: evaluated(7, 6) },
    ],
    'haar',
    { why: 'Does <it> work?' },
  );
  const figure = plain(storyFigure(results) ?? undefined);

  it('has both states of an arm with a quarantine, one of an arm without, and an interval each', () => {
    const of = (name: string) => figure?.data.rows.filter(([own]) => own === name) ?? [];
    expect(of('vanilla').map(([, what]) => what)).toEqual([
      'attempt, deployed',
      'hack, deployed',
      'solve, deployed',
      'clean solve, deployed',
    ]);
    expect(of('gate')[0]).toEqual(['gate', 'attempt, as trained', '0.8000', '', '', '2']);
    expect(of('gate')[2]).toEqual(['gate', 'hack, as trained', '0.7000', '0.0000', '1.0000', '2']);
    expect(of('gate')[3].slice(0, 3)).toEqual(['gate', 'hack, deployed', '0.2000']);
    expect(of('gate').at(-1)?.slice(0, 3)).toEqual(['gate', 'clean solve, deployed', '0.2000']);
    expect(of('vanilla')[0].slice(2)).toEqual(['0.8000', '0.4902', '0.9433', '1']);
    expect(figure?.legend.map(({ label }) => label)).toEqual(['vanilla', 'gate', 'haar (placebo)']);
  });

  it('draws the base behind solve, and says how few seeds there are', () => {
    expect(figure?.panels.map(({ yLabel }) => yLabel)).toEqual(['attempt', 'hack', 'solve', 'clean solve']);
    expect(figure?.panels[2].marks[0]).toMatchObject({ kind: 'level', label: 'base', y: 0.4 });
    expect(figure?.caption).toContain('n = 1, no claim');
  });

  it('calls solving by another name where it is counted on other prompts than clean solves', async () => {
    const unhinted = {
      update: 20,
      set: 'test-unhinted' as const,
      state: 'deployed' as const,
      outcomes: tenPrompts(0, 1),
    };
    const own = { name: 'gate', seed: 1, arm, checkpoints, evaluations: [...evaluated(8, 1), unhinted] };
    const two = plain(storyFigure(await madeResults([own], null)) ?? undefined);
    expect(two?.data.rows.filter(([, what]) => `${what}`.includes('solve')).map((row) => row.slice(1, 3))).toEqual([
      ['solve, no loophole open, deployed', '0.1000'],
      ['clean solve, deployed', '0.2000'],
    ]);
    expect(two?.panels.map(({ title }) => title)[2]).toBe('solve, no loophole open, deployed');
    expect(two?.caption).toContain('solve on other prompts (held-out problems, no loophole open)');
    expect(figure?.caption).toContain(
      'hack, solve and clean solve (without an attempt) on held-out problems, original',
    );
  });

  it('says n where few seeds do not differ, in the place of an interval that would be a point', async () => {
    const made = (deployed: readonly number[]) =>
      madeResults(
        deployed.map((hacks, i) => ({ name: 'gate', seed: i + 1, arm, checkpoints, evaluations: evaluated(8, hacks) })),
      );
    const drawn = async (...deployed: readonly number[]) => {
      const own = storyFigure(await made(deployed)) ?? expect.fail();
      const low = own.data.rows.find(([, what]) => what === 'attempt, deployed')?.[3];
      return { low, ns: renderFigure(own).match(/>n = 2</g)?.length ?? 0, caption: own.caption };
    };
    const alike = await drawn(1, 1);
    expect(alike).toMatchObject({
      low: '',
      ns: 6,
      caption: expect.stringContaining('over seeds, or n where so few are all alike;'),
    });
    // Nothing is attempted: the dots lie on the axis.
    expect((await drawn(0, 0)).ns).toBe(6);
    const apart = await drawn(1, 2);
    expect(apart).toMatchObject({ low: '0.0000', ns: 4 });
    expect(await drawn(1, 1, 1, 1, 1, 1)).toMatchObject({
      low: '0.1000',
      ns: 0,
      caption: expect.not.stringContaining('all alike'),
    });
  });

  it('comes first in a report, after the question, with one prompt in both states', async () => {
    const html = await renderReport(results, { title: 'made', commands: [] });
    const places = [
      'Does &lt;it&gt; work?',
      'Attempts when deployed: vanilla 80%, gate 20% (80% as trained), haar (placebo) ',
      '>What is trained, and what is deployed<',
      'as trained: attempt, hack',
      '<a href="#tables">Tables</a>',
      '<h2 id="tables">Tables</h2>',
    ];
    const found = places.map((text) => html.indexOf(text));
    expect(found).toEqual(found.toSorted((a, b) => a - b));
    expect(found[0]).toBeGreaterThan(0);
    expect(html.split(pageFigure(figure ?? expect.fail(), 'h2')).length).toBe(2);
  });

  it('has the warning before its rates where training did not raise attempts, and only there', async () => {
    const headline = async (attempts: number): Promise<string> => {
      const [base, full] = evaluated(8, 8);
      const raised = [base, { ...full, outcomes: tenPrompts(attempts, 2) }];
      const found = await madeResults([{ seed: 1, checkpoints, evaluations: raised }]);
      const html = await renderReport(found, { title: 'made', commands: [] });
      return /<p class="finding">(.*)<\/p>/.exec(html)?.[1] ?? '';
    };
    expect(await headline(2)).toBe(
      'Training did not raise attempts as it must (vanilla 20%, the base 0%): rates say little. Attempts when deployed: vanilla 20%. One seed: no claim.',
    );
    expect(await headline(3)).toBe('Attempts when deployed: vanilla 30%. One seed: no claim.');
  });

  it('names the arms whose settings labels informed, in a report and on the page of the viewer', async () => {
    const config = { notes: { thresholds: 'label-informed' } };
    const found = await madeResults([{ seed: 1, checkpoints, evaluations: evaluated(8, 8), config }]);
    const said = 'One seed: no claim. Settings informed by labels: vanilla.';
    expect(await renderReport(found, { title: 'made', commands: [] })).toContain(`${said}</p>`);
    const page = await experimentPage('made', found, () => '');
    expect(foundIn(page.story ?? expect.fail(), (arm) => arm, page)).toContain(said);
  });
});
