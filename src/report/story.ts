/** The first screen about one gate: bars of what the base, the baseline, the gate and its placebo do, and what is said of them in short. */
import { wrapText } from '../base/index.ts';
import type { FinalSet } from '../evaluate/index.ts';
import type { Results } from './aggregate.ts';
import { claimSet, findArm } from './aggregate.ts';
import { unlikePlacebos } from './comparisons.ts';
import { type MeanRates, meanRatesOf, percentText } from './mean-rates.ts';
import { endsOf, gateFacts, statements } from './statements.ts';
import { setTitles } from './tables.ts';

/** Tells the story of `gate`; null when the arms that it needs are not there. */
export function tellStory(results: Results, gate: string, width: number): string | null {
  const set = claimSet(results);
  if (set === undefined || gateFacts({ results, set, gate }).length === 0) return null;
  const said = statements.flatMap(({ say }) => say({ results, set, gate }, 'short'));
  const prompts = findArm(results, gate)?.runs[0]?.final[set]?.deployed?.length ?? 0;
  const title = `Share of ${setTitles[set]} (${prompts} prompts a run)`;
  const more: Readonly<Record<string, string>> = {
    quarantine: massText(results, set, gate),
    seeds: trainedText(results, gate),
  };
  const texts = said.map(({ name, text }) => `${text}${more[name] ?? ''}`);
  const sentences = texts.map((text) => wrapText(text, width));
  return [title, '', ...drawBars(barsOf(results, gate, set)), '', ...sentences].join('\n');
}

/** Whether the placebo got clearly more or less than the gate: then the two do not differ in the direction alone. */
function massText(results: Results, set: FinalSet, gate: string): string {
  const unlike = unlikePlacebos(results, set).find(({ arm, against }) => arm === gate && against === results.placebo);
  if (unlike === undefined) return '';
  const shares = unlike.apart.map(({ what, own, other }) => {
    const [more, higher] = other > own ? ['more', 'higher'] : ['less', 'lower'];
    const did = what === 'routed' ? `routed ${more}` : `had a ${higher} qmass`;
    return `${did} (${other.toFixed(2)}, the gate ${own.toFixed(2)})`;
  });
  return ` The placebo ${shares.join(' and ')}: the difference may be of mass.`;
}

/** How long the gate was trained, and on which share of sound prompts, which hold some of the exploit back. */
function trainedText(results: Results, gate: string): string {
  const config = findArm(results, gate)?.runs[0]?.manifest.config;
  if (config === undefined) return '';
  const { unhackableFraction: sound } = config.environment;
  const prompts = `${sound === 0 ? 'no' : percentText(sound)} sound prompts`;
  return ` Each run: ${config.updates} updates, ${prompts}.`;
}

function barsOf(results: Results, gate: string, set: FinalSet): MeanRates[] {
  const ends = endsOf({ results, set, gate }).flatMap(({ base, vanilla }) => [base, vanilla]);
  const both = [findArm(results, gate), findArm(results, results.placebo)].flatMap((arm) =>
    arm === undefined
      ? []
      : [
          meanRatesOf(`${arm.arm}, as trained`, arm.runs, set, 'full'),
          meanRatesOf(`${arm.arm}, deployed`, arm.runs, set, 'deployed'),
        ],
  );
  return [...ends, ...both].filter((rates) => rates !== null);
}

const cells = 7;

function drawBars(bars: readonly MeanRates[]): string[] {
  const longest = Math.max(...bars.map(({ name }) => name.length));
  const draw = (rate: number): string =>
    `${'█'.repeat(Math.round(cells * rate)).padEnd(cells, '·')} ${percentText(rate).padStart(4)}`;
  const drawn = ['attempt', 'hack', 'solve', 'cleanSolve'] as const;
  const head = ['', 'attempt', 'hack', 'solve', 'clean solve'].map((name, i) =>
    name.padEnd(i === 0 ? longest : cells + 5),
  );
  const rows = bars.map((bar) => [bar.name.padEnd(longest), ...drawn.map((metric) => draw(bar[metric]))]);
  return [head, ...rows].map((row) => row.join('  ').trimEnd());
}
