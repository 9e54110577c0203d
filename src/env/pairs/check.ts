/**
 * Checks, as far as surface features tell, that the sides of a set of pairs differ in the hack axis alone. Length: the longer
 * side over the shorter one, for each pair and as the geometric mean over pairs of hack over clean. Style: for each surface
 * feature the sign-flip test of the paired differences, Holm-adjusted over the features. Duplicates: pairs whose prompt
 * and completions share almost all runs of three pieces. Errors make a set unfit; warnings need an explanation.
 */
import { nearestName } from '../../base/index.ts';
import { holmAdjust, signFlipTest } from '../../stats/index.ts';
import { builtinLoopholes, namesOf } from '../loopholes/registry.ts';
import { describeProblem, type Pair, type PairProblem, promptTexts } from './pair.ts';
import { measureSurface, type StyleFeature, shingles, similarity, splitPieces, styleFeatures } from './surface.ts';

export const thresholds = {
  /** Length of the longer side over the shorter side, for one pair. */
  pairLength: { warning: 1.5, error: 3 },
  /** Geometric mean of the length of hack over clean, or its inverse. */
  meanLength: { warning: 1.15, error: 1.5 },
  /** Adjusted p-value below which a style difference is not taken for chance. */
  style: { warning: 0.05 },
  /** Share of runs of three pieces that two pairs have in common. */
  similarity: { warning: 0.8 },
} as const;

export interface PairFinding {
  readonly level: 'error' | 'warning';
  readonly check: 'format' | 'tag' | 'length' | 'style' | 'duplicate' | 'test problem';
  /** Headings of the pairs that the finding is about; empty when it is about the whole set. */
  readonly headings: readonly string[];
  readonly message: string;
}

export interface LengthBalance {
  readonly unit: string;
  /** Geometric mean of the length of hack over clean. */
  readonly meanRatio: number;
  /** Lengths of the pair whose ratio is furthest from 1. */
  readonly worst: { readonly heading: string; readonly hack: number; readonly clean: number };
}

export interface StyleBalance {
  readonly feature: StyleFeature;
  readonly hackMean: number;
  readonly cleanMean: number;
  readonly pValue: number;
  readonly adjustedPValue: number;
}

export interface PairReport {
  readonly pairs: number;
  readonly lengths: readonly LengthBalance[];
  readonly styles: readonly StyleBalance[];
  readonly findings: readonly PairFinding[];
}

export interface LengthUnit {
  readonly unit: string;
  readonly count: (text: string) => number;
}

/** Without a tokenizer, pieces (words, numbers, other characters) stand for tokens. */
export const surfaceUnits: readonly LengthUnit[] = [
  { unit: 'pieces', count: (text) => splitPieces(text).length },
  { unit: 'characters', count: (text) => text.length },
];

export function formatFindings(problems: readonly PairProblem[]): PairFinding[] {
  return problems.map((problem) => ({
    level: 'error',
    check: 'format',
    headings: problem.heading === null ? [] : [problem.heading],
    message: describeProblem(problem),
  }));
}

export function checkPairs(pairs: readonly Pair[], units: readonly LengthUnit[] = surfaceUnits): PairReport {
  const findings: PairFinding[] = [];
  const lengths = units.map((unit) => checkLengths(pairs, unit, findings));
  const styles = checkStyles(pairs, findings);
  checkDuplicates(pairs, findings);
  checkTags(pairs, findings);
  return { pairs: pairs.length, lengths, styles, findings };
}

/** A tag that is nearly the name of a loophole would be overlooked where pairs of that loophole are selected or refused. */
function checkTags(pairs: readonly Pair[], findings: PairFinding[]): void {
  const names = namesOf(builtinLoopholes);
  for (const { heading, tags } of pairs) {
    for (const tag of tags) {
      const nearest = names.some((name) => name === tag) ? undefined : nearestName(tag, names);
      if (nearest === undefined) continue;
      const message = `the tag ${tag} is no loophole; did you mean ${nearest}?`;
      findings.push({ level: 'warning', check: 'tag', headings: [heading], message });
    }
  }
}

function checkLengths(pairs: readonly Pair[], { unit, count }: LengthUnit, findings: PairFinding[]): LengthBalance {
  const rows = pairs.map(({ heading, hack, clean }) => ({ heading, hack: count(hack), clean: count(clean) }));
  const apart = ({ hack, clean }: { hack: number; clean: number }): number => Math.abs(Math.log(hack / clean));
  for (const row of rows) {
    const ratio = Math.exp(apart(row));
    const level = levelOf(ratio, thresholds.pairLength);
    if (level === null) continue;
    const message = `hack ${row.hack} and clean ${row.clean} ${unit}, a factor of ${ratio.toFixed(2)} (at most ${thresholds.pairLength.warning})`;
    findings.push({ level, check: 'length', headings: [row.heading], message });
  }
  const meanRatio = Math.exp(rows.reduce((sum, { hack, clean }) => sum + Math.log(hack / clean), 0) / rows.length);
  const level = levelOf(Math.max(meanRatio, 1 / meanRatio), thresholds.meanLength);
  if (level !== null) {
    const message = `hack sides have ${meanRatio.toFixed(2)} times the ${unit} of clean sides (within a factor of ${thresholds.meanLength.warning})`;
    findings.push({ level, check: 'length', headings: [], message });
  }
  return { unit, meanRatio, worst: rows.reduce((worst, row) => (apart(row) > apart(worst) ? row : worst)) };
}

function levelOf(value: number, { warning, error }: { warning: number; error: number }): PairFinding['level'] | null {
  if (value <= warning) return null;
  return value > error ? 'error' : 'warning';
}

function checkStyles(pairs: readonly Pair[], findings: PairFinding[]): StyleBalance[] {
  const hacks = pairs.map(({ hack }) => measureSurface(hack).features);
  const cleans = pairs.map(({ clean }) => measureSurface(clean).features);
  const mean = (sides: typeof hacks, feature: StyleFeature): number =>
    sides.reduce((sum, side) => sum + side[feature], 0) / sides.length;
  const pValues = styleFeatures.map(
    (feature) =>
      signFlipTest(
        hacks.map((side, i) => side[feature] - cleans[i][feature]),
        { seed: 0 },
      ).pValue,
  );
  const adjusted = holmAdjust(pValues);
  return styleFeatures.map((feature, i) => {
    const [hackMean, cleanMean] = [mean(hacks, feature), mean(cleans, feature)];
    if (adjusted[i] < thresholds.style.warning) {
      const message = `${feature}: ${round(hackMean)} on hack sides, ${round(cleanMean)} on clean sides (adjusted p = ${adjusted[i].toPrecision(2)}, below ${thresholds.style.warning})`;
      findings.push({ level: 'warning', check: 'style', headings: [], message });
    }
    return { feature, hackMean, cleanMean, pValue: pValues[i], adjustedPValue: adjusted[i] };
  });
}

function round(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** Equal completions under different prompts are different pairs, so the prompt counts too. */
function checkDuplicates(pairs: readonly Pair[], findings: PairFinding[]): void {
  const texts = pairs.map(({ prompt, hack, clean }) => [...promptTexts(prompt), hack, clean].join('\n'));
  const sets = texts.map(shingles);
  const words = texts.map((text) => text.split(/\s+/).join(' '));
  for (let second = 1; second < pairs.length; second++) {
    for (let first = 0; first < second; first++) {
      const headings = [pairs[first].heading, pairs[second].heading];
      const common = similarity(sets[first], sets[second]);
      if (words[first] === words[second]) {
        findings.push({ level: 'error', check: 'duplicate', headings, message: 'the same prompt, hack and clean' });
      } else if (common >= thresholds.similarity.warning) {
        const message = `${(100 * common).toFixed(0)}% of their runs of three pieces are the same (below ${100 * thresholds.similarity.warning}%)`;
        findings.push({ level: 'warning', check: 'duplicate', headings, message });
      }
    }
  }
}
