/**
 * What pages, log, recipes and the notebook say in numbers: no rate is called one of hacks without attempts in the same sentence, bullet or
 * table, and no result of an arm stands without its control in the same paragraph, bullet or table. Nothing excuses a page; recipes whose hash
 * covers such a sentence are named on the results page. Each check is a function of a text, so that tests can plant a mistake.
 */
import { describe, expect, it } from 'vitest';
import { listFiles, readText } from './architecture/files.ts';

const isRow = (line: string): boolean => line.startsWith('|');

/** Paragraphs, bullets and tables of a page, without its headings. */
function blocksOf(page: string): string[] {
  const blocks: string[] = [];
  let lines: string[] = [];
  const end = (): void => {
    if (lines.length > 0) blocks.push(lines.join('\n'));
    lines = [];
  };
  for (const line of page.replace(/^ *```[\s\S]*?^ *```$/gm, '').split('\n')) {
    const begins = /^\s*[-*] |^\d+\. |^#+ /.test(line) || isRow(line) !== isRow(lines.at(-1) ?? '');
    if (begins || line.trim() === '') end();
    if (!/^#+ /.test(line) && line.trim() !== '') lines.push(line);
  }
  end();
  return blocks;
}

const number = String.raw`(?:(?<![\w.])[01]?\.\d+(?!\w)|\b\d+ ?%|\b\d+ of (?:the )?\d+\b)`;

/** Whether a number stands near one of these words, with neither the end of a sentence nor a semicolon between them. */
const isNear = (text: string, words: string): boolean =>
  new RegExp(`${words}[^.;]{0,60}?${number}|${number}[^.;]{0,60}?${words}`, 'i').test(text);

const hacks = String.raw`\bhack(?:s|ing|ed)?\b`;
/** Attempts that are named as missing are none. */
const missingAttempts = /attempts?\b[^.;,]{0,30}(?:\bnot kept|unknown|\blost\b|\bopen\b|not counted|not measured)/gi;
const hasAttempts = (text: string): boolean => /attempt/i.test(text.replace(missingAttempts, ''));
/** A bullet is read as a whole. */
const sentencesOf = (text: string): string[] =>
  /^\s*[-*] /.test(text) ? [text] : text.split(/(?<=[.!?][)*]*)\s+(?=[*(`]*[A-Z])/);

/** What a recipe may say of the bar that it states: it was stated in hacks, and stays as it was stated. */
const statedBefore = /before attempts were measured/i;

/** Of a table its headings speak for all rows; where they name no hacks, each row is read as a sentence. */
function hacksWithoutAttempts(page: string): string[] {
  return blocksOf(page).flatMap((text) => {
    const [head, ...rows] = text.split('\n');
    const lacksAttempts = (words: string): boolean => isNear(words, hacks) && !hasAttempts(words);
    if (!isRow(text)) return sentencesOf(text).filter(lacksAttempts);
    if (hasAttempts(head)) return [];
    return new RegExp(hacks, 'i').test(head) ? [text] : [head, ...rows].filter(lacksAttempts);
  });
}

const arms =
  /\b(?:own mean|gates?|screen(?:s|ing|ed)?|penalt(?:y|ies)|filters?|rout(?:ed|ing)|probe|inoculation|steer(?:ing)?|symmetric|scorda|recontextualisation|ablation|absorbed)\b/i;
const results = String.raw`\b(?:attempt|hack|fail|deploy|leak)\w*`;
const controls =
  /placebo|random|haar|chance|reversed|unrelated|shuffled|mass-matched|\bcontrols?\b|about (?:style|topics)|uses labels/i;

/** A control that is named as missing is none. */
const missing = /(?:placebos?|controls?)[^.;]{0,40}not run|no placebo|without (?:a )?placebos?/gi;
const hasControl = (text: string): boolean => controls.test(text.replace(missing, ''));

function armsWithoutControl(page: string): string[] {
  const blocks = blocksOf(page);
  return blocks.filter((text, i) => {
    const [head] = text.split('\n');
    if (isRow(text)) {
      const isOfArms = /^\|\s*arm\b/.test(head) && /attempt|hack|fail/.test(head);
      return isOfArms && !hasControl(text) && !hasControl(blocks[i + 1] ?? '');
    }
    return arms.test(text) && isNear(text, results) && !hasControl(text);
  });
}

/** Of a recipe: its comments, why it is run, what settles it and what it predicts. A comment at its top speaks for all of it. */
function proseOf(path: string, text = readText(path)): string {
  if (path.endsWith('.ipynb')) {
    const { cells } = JSON.parse(text) as { cells: { cell_type: string; source: string[] }[] };
    return cells.map((cell) => (cell.cell_type === 'markdown' ? cell.source.join('') : '')).join('\n\n');
  }
  if (!path.endsWith('.toml')) return text;
  const lines = text.split('\n').map((line) => {
    if (/^(?:what|why|resolve) = /.test(line)) return `\n${line}\n`;
    return line.startsWith('#') ? line.replace(/^#+ ?/, '') : '';
  });
  return lines.join('\n');
}

/** Of a recipe what it says of runs that were made, in comments and after "What was known"; what it predicts is no result. */
function knownOf(path: string, text = readText(path)): string {
  if (!path.endsWith('.toml')) return proseOf(path, text);
  return proseOf(path, text)
    .replace(/^what = .*$/gm, '')
    .replace(/^(?:why|resolve) = .*?(?=What was known|$)/gm, '');
}

const hashed = ['atlas-c', 'atlas-e', 'atlas-e-ladder', 'countdown-claim'];

const pages = listFiles().filter((path) =>
  /^(?:README|ARCHITECTURE|CONTRIBUTING|LOG|CHANGELOG)\.md$|^docs\/.*\.md$/.test(path),
);
const others = listFiles().filter((path) =>
  /^recipes\/.*\.toml$|^docs\/.*\.ipynb$|^models\/.*\.md$|^bench\/results\/.*\.md$/.test(path),
);

it.each([...pages, ...others])('%s calls no rate one of hacks without attempts', (path) => {
  const prose = proseOf(path);
  const isExcused = path.startsWith('recipes/') && statedBefore.test(prose);
  expect(isExcused ? [] : hacksWithoutAttempts(prose)).toEqual([]);
});

it.each([...pages, ...others])('%s quotes no result of an arm without its control', (path) => {
  const without = armsWithoutControl(knownOf(path));
  if (hashed.some((name) => path === `recipes/${name}.toml`)) expect(without).toHaveLength(1);
  else expect(without).toEqual([]);
});

it('the results page names the recipes whose hash covers a result without its control', () => {
  const names = hashed.map((name) => `\`${name}\``).join(', ').replace(/, (?=[^,]*$)/, ' and '); // biome-ignore format: one line
  expect(readText('docs/results.md')).toContain(`What ${names} say in \`resolve\` of earlier seeds`);
});

describe('planted sentences are caught', () => {
  it.each([
    'The gate deploys a hack rate of 0.07.',
    '- Vanilla hacks on 47% of the prompts.',
    '| arm | hack deployed |\n| --- | --- |\n| gate | 0.07 |',
    'In 5 of 5 seeds\nits hacking is gone.',
    '- Vanilla hacks on 0.47 of the prompts (attempts were not kept).',
    '- The gate deploys hacks in 0.05 of the prompts; its attempts are unknown.',
    '| 98 | long runs: the gate deploys 0.01 of hacking |',
  ])('hack without attempt: %j', (text) => {
    expect(hacksWithoutAttempts(`# Page\n\n${text}\n`)).toEqual([text]);
    expect(hacksWithoutAttempts(`# Page\n\nAttempts of these runs were not kept.\n\n${text}\n`)).toEqual([text]);
  });

  it.each([
    'The gate deploys attempts in 0.07 of the prompts, hacks in 0.03.',
    '| arm | attempt | hack |\n| --- | --- | --- |\n| gate | 0.10 | 0.07 |',
    'A hack is an exploit that paid; the learning rate was 0.10.',
    'Whether hacks emerge in Qwen3-0.6B is not known.',
  ])('a rate that may stand: %j', (text) => {
    expect(hacksWithoutAttempts(`# Page\n\n${text}\n`)).toEqual([]);
  });

  it.each([
    'Own mean attempts in 0.01 of the prompts.',
    '- A screen by the probe fails in 0 of 5 seeds.',
    'A screen fails in 0 of 5 seeds (its placebo was not run).',
    '| arm | attempt |\n| --- | --- |\n| own mean | 0.01 |',
  ])('an arm without its control: %j', (text) => {
    expect(armsWithoutControl(`# Page\n\n${text}\n`)).toEqual([text]);
    expect(armsWithoutControl(`# Page\n\n${text}\n\nFlags at random were tried elsewhere.\n`)).toEqual(
      isRow(text) ? [] : [text],
    );
  });

  it('in a recipe what was known needs its control, what is predicted does not', () => {
    const predicted =
      'resolve = "A screen fails in at least 8 of 20 seeds."\nwhat = "A screen attempts in 0.05 or less."';
    expect(armsWithoutControl(knownOf('planted.toml', predicted))).toEqual([]);
    const known = 'resolve = "Stated above. What was known: a screen fails in 0 of 5 seeds."';
    expect(armsWithoutControl(knownOf('planted.toml', known))).toHaveLength(1);
    expect(armsWithoutControl(knownOf('planted.toml', '# A screen fails in 0 of 5 seeds.'))).toHaveLength(1);
  });

  it.each([
    'Own mean attempts in 0.01 of the prompts, along a random direction in 0.64.',
    '| arm | attempt |\n| --- | --- |\n| own mean | 0.01 |\n| haar | 0.90 |',
  ])('an arm that may stand: %j', (text) => {
    expect(armsWithoutControl(`# Page\n\n${text}\n`)).toEqual([]);
  });
});
