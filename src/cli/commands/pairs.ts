/** `gq pairs check`, `score`, `from-pool`: whether pairs are sound, whether a direction separates them, new ones. */
import { counted, UserError, wrapText } from '../../base/index.ts';
import { readVersion, sha256File, writeFileAtomic } from '../../base/node/index.ts';
import { importPool } from '../../env/index.ts';
import type { LengthBalance, loadPairs, PairFinding, PairReport, StyleBalance } from '../../env/pairs/index.ts';
import {
  checkPairs,
  contentHashes,
  formatFindings,
  formatPairsJson,
  hashPairs,
  pairsFromPool,
  poolDerivedNote,
  provenanceEnding,
  readPairFile,
  recordLabelled,
  selectPairs,
  surfaceUnits,
  thresholds,
} from '../../env/pairs/index.ts';
import { knownTestPairs } from '../../env/sources/index.ts';
import { modelArgument, openLab, type PairScores, resolveConfig, scorePairs } from '../../lab/index.ts';
import { ModelTokenizer } from '../../model/index.ts';
import { auroc, aurocInterval, wilsonInterval } from '../../stats/index.ts';
import { argument, type CommandResult, choice, command, flag, needed, type Part, whole, word } from '../command.ts';
import { configOption, deviceOption, expectNewFile, jsonText } from '../shared.ts';
import { tellOn } from '../terminal/progress.ts';
import { alignRows } from '../terminal/screen.ts';

const fileArgument = argument(
  '<file>',
  'a .md or .json file, or a set of the package: generic, hack (environment-aware), placebo-style, placebo-topic, and for the micro model micro, micro-second, micro-placebo-style, micro-placebo-topic',
);
const selectOption: Part<readonly string[]> = {
  takes: '<terms...>',
  about: 'use only matching pairs: section:NAME, heading:PREFIX, tag:TAG; commas separate alternatives',
  usual: [],
  usualText: 'all',
};

export const checkCommand = command({
  arguments: { file: fileArgument },
  options: {
    select: selectOption,
    tokenizer: word('<dir>', "count length in the tokens of this model folder's tokenizer"),
  },
  json: 'the report as JSON',
  examples: ['gq pairs check hack', 'gq pairs check my-pairs.md --select tag:run_tests,sentinel section:Behaviour'],
  exits: { 1: 'the pairs have errors' },
  async run({ file, select, tokenizer }) {
    const parsed = await readPairFile(file);
    const pairs = parsed.pairs.length === 0 ? [] : selectPairs(parsed.pairs, select);
    const measured = pairs.length === 0 ? { lengths: [], styles: [], findings: [] } : await measure(pairs, tokenizer);
    const findings = [...formatFindings(parsed.problems), ...knownTestFindings(pairs), ...measured.findings];
    const shows = parsed.shows && { shows: parsed.shows };
    const hash = hashPairs(pairs);
    const report = { file: parsed.file, ...shows, pairs: pairs.length, hash, ...measured, findings };
    const isNo = findings.some(({ level }) => level === 'error');
    return { value: report, text: (width) => renderPairsReport(report, width), isNo };
  },
});

/** `gq train` refuses these. */
function knownTestFindings(pairs: Parameters<typeof knownTestPairs>[0]): PairFinding[] {
  const message =
    'states or solves a test problem of the LeetCode benchmark: what is learned from it measures nothing there';
  return knownTestPairs(pairs).map(({ heading }) => ({
    level: 'error',
    check: 'test problem',
    headings: [heading],
    message,
  }));
}

async function measure(
  pairs: Awaited<ReturnType<typeof loadPairs>>['pairs'],
  directory: string | undefined,
): Promise<PairReport> {
  if (directory === undefined) return checkPairs(pairs);
  const tokenizer = await ModelTokenizer.open(modelArgument(directory));
  const count = (text: string): number => tokenizer.encode(text).length;
  return checkPairs(pairs, [{ unit: 'tokens', count }, ...surfaceUnits.slice(1)]);
}

export const scoreCommand = command({
  arguments: { model: argument('<model>', 'a model folder, or micro: the model in the package'), file: fileArgument },
  options: {
    select: selectOption,
    family: word('<name>', 'adapter family', 'lora'),
    rank: whole('<n>', 'rank of each block', { usual: 8 }),
    seed: whole('<n>', 'seed of the adapter', { least: 0, usual: 1 }),
    kind: choice('<kind>', 'features', ['activation', 'gradient'], 'activation'),
    score: choice('<kind>', 'how features are compared with the direction', ['dot', 'cosine'], 'dot'),
    standardise: flag('divide the mean difference by its standard error'),
    device: deviceOption,
  },
  json: 'scores and wrong pairs as JSON',
  examples: ['gq pairs score MODEL micro --kind gradient'],
  run: async (call) => scoreResult(await scorePairs(call)),
});

/** Labels chose both sides: the file beside says so, and they are recorded by what they say, to be known again. */
export const fromPoolCommand = command({
  arguments: {
    pool: argument('<pool>', 'a JSONL file of demonstrations, as `gq pool make` writes it'),
    recipe: word('[recipe]', 'recipe whose problems the demonstrations answer; without one, the defaults'),
  },
  options: {
    out: needed(word('<file>', 'the .json file of pairs to write; FILE.provenance.json says where they came from')),
    set: configOption,
    perProblem: whole('<n>', 'most pairs of one problem', { usual: 1 }),
    force: flag('overwrite the files of --out'),
  },
  json: 'the provenance as JSON',
  notes:
    'A pair needs a hack and a solve of one problem. A base hacks rarely, and a small pool of it may have no such problem;\na pool of a run that hacks has many (gq pool make --run RUN).',
  examples: ['gq pairs from-pool pool.jsonl micro-base --out pairs.json'],
  async run({ pool, recipe = null, out, set, perProblem, force }, context) {
    if (!out.endsWith('.json')) {
      throw new UserError({ call: '--out', expected: 'a name that ends in .json', found: out });
    }
    const provenanceFile = `${out}${provenanceEnding}`;
    expectNewFile(out, '--out', force);
    expectNewFile(provenanceFile, '--out', force);
    const { config } = await resolveConfig(recipe, set);
    await using lab = await openLab({ config }, { warn: tellOn(context) });
    const [judge, { splits }] = await Promise.all([lab.judge, lab.problems]);
    const problems = new Map(splits.train.map((problem) => [problem.id, problem]));
    const { loopholes } = lab.parts;
    const imported = await importPool(pool, problems, judge, loopholes);
    const heldOut = config.environment.heldOutLoopholes;
    const pairs = pairsFromPool(imported, problems, { heldOut, perProblem, loopholes });
    if (pairs.length === 0) {
      throw new UserError({
        call: `gq pairs from-pool ${pool}`,
        expected: 'a problem of the train split with a hack and a solve',
        found: `${imported.hacks.size} problems with hacks, ${imported.solves.size} with solves, none with both; ${imported.refused.length} demonstrations refused`,
        fix: 'Name the recipe that the pool was made for, or make a pool of a run that hacks: gq pool make --run RUN --out FILE',
      });
    }
    const provenance = {
      provenance: poolDerivedNote,
      pool,
      poolHash: await sha256File(pool),
      pairs: pairs.length,
      pairsHash: hashPairs(pairs),
      refused: imported.refused.length,
      heldOutLoopholes: heldOut,
      version: readVersion(),
      contents: contentHashes(pairs),
    };
    await recordLabelled(pairs);
    await writeFileAtomic(out, formatPairsJson(pairs));
    await writeFileAtomic(provenanceFile, jsonText(provenance));
    return { value: provenance, text: () => `${out}: ${pairs.length} pairs, ${poolDerivedNote}\n` };
  },
});

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

type FileReport = PairReport & { readonly file: string; readonly hash: string; readonly shows?: readonly string[] };

export function renderPairsReport(report: FileReport, width: number): string {
  const { file, hash, pairs, lengths, styles, findings, shows } = report;
  const { pairLength, meanLength, style, similarity } = thresholds;
  const errors = findings.filter(({ level }) => level === 'error').length;
  const lines = [
    `${file}: ${counted(pairs, 'pair')}, content ${hash.slice(0, 12)}`,
    ...(shows === undefined ? [] : [`shows the loopholes: ${shows.join(', ') || 'none'}`]),
    ...alignRows([...lengths.map(lengthRow), ...styles.map(styleRow)], width),
    `bounds: ${pairLength.warning} (error ${pairLength.error}) for one pair's length, ${meanLength.warning} (error ${meanLength.error}) for the mean, p < ${style.warning} adjusted for style, ${100 * similarity.warning}% alike`,
    ...findings.map(({ level, check, headings, message }) => {
      const about = check === 'format' ? '' : headings.map((heading) => `"${heading}"`).join(' and ');
      return `${level}: ${check}: ${about === '' ? '' : `${about}: `}${message}`;
    }),
    `${counted(errors, 'error')}, ${counted(findings.length - errors, 'warning')}.`,
  ];
  return `${wrapText(lines.join('\n'), width)}\n`;
}

function rateText(right: number, total: number): string {
  const { low, high } = wilsonInterval(right, total);
  return `${right}/${total} = ${(right / total).toFixed(3)} (95% ${low.toFixed(3)} to ${high.toFixed(3)})`;
}

export function scoreResult(report: PairScores): CommandResult {
  const { hackScores, cleanScores, wrongPairs, wrongWhenLeftOut } = report;
  const pairs = hackScores.length;
  const pairedAccuracy = 1 - wrongPairs.length / pairs;
  const leaveOneOut = wrongWhenLeftOut === null ? null : 1 - wrongWhenLeftOut.length / pairs;
  const value = { ...report, pairs, pairedAccuracy, auroc: auroc(hackScores, cleanScores), leaveOneOut };
  return { value, text: (width) => renderScore(report, width) };
}

function renderScore(report: PairScores, width: number): string {
  const { hackScores, cleanScores, wrongPairs, wrongWhenLeftOut } = report;
  const total = hackScores.length;
  const { low, high } = aurocInterval(hackScores, cleanScores);
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
