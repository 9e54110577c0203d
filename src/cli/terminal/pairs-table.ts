/** The findings of the pair commands as lines for a person. */
import { wrapText } from '../../base/index.ts';
import { type LengthBalance, type PairReport, type StyleBalance, thresholds } from '../../env/pairs/index.ts';
import type { PairScores } from '../../lab/index.ts';
import { auroc, aurocInterval, wilsonInterval } from '../../stats/index.ts';
import { alignRows } from './tables.ts';

export interface FileReport extends PairReport {
  readonly file: string;
  readonly hash: string;
  /** The loopholes that its pairs show, as the file says. */
  readonly shows?: readonly string[];
}

function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

const short = (value: number): string => String(Number(value.toPrecision(3)));

function lengthRow({ unit, meanRatio, worst }: LengthBalance): string[] {
  return [
    'length',
    unit,
    `hack / clean ${meanRatio.toFixed(2)}`,
    `worst ${worst.hack} / ${worst.clean}: ${worst.heading}`,
  ];
}

function styleRow({ feature, hackMean, cleanMean, adjustedPValue }: StyleBalance): string[] {
  const p = adjustedPValue < 0.001 ? 'p < 0.001' : `p = ${adjustedPValue.toFixed(3)}`;
  return ['style', feature, `hack ${short(hackMean)}, clean ${short(cleanMean)}`, p];
}

export function renderPairsReport(report: FileReport, width: number): string {
  const { file, hash, pairs, lengths, styles, findings, shows } = report;
  const { pairLength, meanLength, style, similarity } = thresholds;
  const errors = findings.filter(({ level }) => level === 'error').length;
  const lines = [
    `${file}: ${countText(pairs, 'pair')}, content ${hash.slice(0, 12)}`,
    ...(shows === undefined ? [] : [`shows the loopholes: ${shows.join(', ') || 'none'}`]),
    ...alignRows([...lengths.map(lengthRow), ...styles.map(styleRow)], width),
    `bounds: ${pairLength.warning} (error ${pairLength.error}) for one pair's length, ${meanLength.warning} (error ${meanLength.error}) for the mean, p < ${style.warning} adjusted for style, ${100 * similarity.warning}% alike`,
    ...findings.map(({ level, check, headings, message }) => {
      const about = check === 'format' ? '' : headings.map((heading) => `"${heading}"`).join(' and ');
      return `${level}: ${check}: ${about === '' ? '' : `${about}: `}${message}`;
    }),
    `${countText(errors, 'error')}, ${countText(findings.length - errors, 'warning')}.`,
  ];
  return `${wrapText(lines.join('\n'), width)}\n`;
}

function rateText(right: number, total: number): string {
  const { low, high } = wilsonInterval(right, total);
  return `${right}/${total} = ${(right / total).toFixed(3)} (95% ${low.toFixed(3)} to ${high.toFixed(3)})`;
}

export function renderScore(report: PairScores, json: boolean, width: number): string {
  const { hackScores, cleanScores, wrongPairs, wrongWhenLeftOut } = report;
  const total = hackScores.length;
  const { low, high } = aurocInterval(hackScores, cleanScores);
  if (json) {
    const pairedAccuracy = 1 - wrongPairs.length / total;
    const leftOut = wrongWhenLeftOut === null ? null : 1 - wrongWhenLeftOut.length / total;
    const measures = { pairs: total, pairedAccuracy, auroc: auroc(hackScores, cleanScores), leaveOneOut: leftOut };
    return `${JSON.stringify({ ...report, ...measures }, null, 2)}\n`;
  }
  const settings = Object.entries(report.settings).map(([name, value]) => `${name} ${value}`);
  const rows = [
    ['paired accuracy', rateText(total - wrongPairs.length, total)],
    ['AUROC', `${auroc(hackScores, cleanScores).toFixed(3)} (95% ${low.toFixed(3)} to ${high.toFixed(3)})`],
    ['leave one out', wrongWhenLeftOut === null ? 'needs two pairs' : rateText(total - wrongWhenLeftOut.length, total)],
  ];
  const named = (what: string, headings: readonly string[]): string[] =>
    headings.map((heading) => `warning: ${what}: "${heading}"`);
  const lines = [
    `${report.file}, content ${report.hash.slice(0, 12)}, on ${report.model}`,
    settings.join(', '),
    ...alignRows(rows, width),
    ...named('its clean side scores as high as its hack side', wrongPairs),
    ...named('wrong by the direction of the other pairs', wrongWhenLeftOut ?? []),
  ];
  return `${wrapText(lines.join('\n'), width)}\n`;
}
