/**
 * Compares the pages with the repository: sections that source files cite, links, commands, and paths. Each check is a function of
 * texts, so that tests can plant a mistake and see it caught.
 */
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { commandsPage } from '../src/cli/reference.ts';
import { commandTable, type Entry, loadCommands } from '../src/cli/table.ts';
import { listFiles, readSources, readText, root } from './architecture/files.ts';

type Texts = ReadonlyMap<string, string>;

const own = 'test/docs.test.ts';
const files = listFiles();
const pages = readSources(
  files.filter((path) => /^(?:README|ARCHITECTURE|CONTRIBUTING)\.md$|^docs\/.*\.md$/.test(path)),
);
const code = readSources(files.filter((path) => /^(?:src|test)\/.*\.(?:ts|py|cu|cuh)$/.test(path) && path !== own));

/** Joins the lines of a comment, since a citation may span two lines. */
const unwrap = (text: string): string => text.replace(/\s*\n\s*(?:\*|\/\/|#)?\s*/g, ' ');

function sectionsOf(page: string): Set<number> {
  const anchored = [...page.matchAll(/^<a id="section-(\d+)"><\/a>\n+## (\d+)\. /gm)];
  return new Set(anchored.filter(([, anchor, heading]) => anchor === heading).map(([, anchor]) => Number(anchor)));
}

/** Checks that every mention of the page names sections, and that these exist. */
function checkCitations(sources: Texts, science: string): { cited: number; violations: string[] } {
  const sections = sectionsOf(science);
  const violations: string[] = [];
  let cited = 0;
  for (const [path, text] of sources) {
    for (const [mention, list] of unwrap(text).matchAll(
      /(?:docs\/science\.md|SCIENCE)\b(?:, sections? ([\d, and]*\d))?/g,
    )) {
      cited++;
      const numbers = (list ?? '').match(/\d+/g) ?? [];
      if (mention.startsWith('SCIENCE') || numbers.length === 0)
        violations.push(`${path}: "${mention}" cites no section`);
      for (const number of numbers) {
        if (!sections.has(Number(number))) violations.push(`${path}: docs/science.md has no section ${number}`);
      }
    }
  }
  return { cited, violations };
}

/** A fence ends at one of the same length: a longer one may hold others. */
const withoutFences = (page: string): string => page.replace(/^ *(`{3,})[^`]*$[\s\S]*?^ *\1$/gm, '');
const withoutCode = (page: string): string => withoutFences(page).replace(/`[^`\n]*`/g, '');

/** The ids in a page, and those that GitHub makes from its headings. */
function anchorsOf(page: string): Set<string> {
  const anchors = new Set([...page.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id));
  for (const [, heading] of withoutFences(page).matchAll(/^#+ (.*)$/gm)) {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    anchors.add(plain.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-'));
  }
  return anchors;
}

function checkLinks(texts: Texts, exists: (path: string) => boolean): { links: number; violations: string[] } {
  const violations: string[] = [];
  let links = 0;
  for (const [path, text] of texts) {
    for (const [, markdown, html] of withoutCode(text).matchAll(/\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g)) {
      const link = markdown ?? html;
      if (/^[a-z]+:/.test(link)) continue;
      links++;
      const [file, anchor] = link.split('#');
      const target = file === '' ? path : posix.normalize(posix.join(posix.dirname(path), file)).replace(/\/$/, '');
      if (!exists(target)) violations.push(`${path}: ${link} leads nowhere`);
      else if (anchor !== undefined && !anchorsOf(texts.get(target) ?? '').has(anchor)) {
        violations.push(`${path}: ${link}: no such heading`);
      }
    }
  }
  return { links, violations };
}

/** Calls of gq whose first words are no command; names of before 0.3 (`formerNames`) are none. */
function checkCalls(texts: Texts, entries: readonly Entry[]): { named: number; violations: string[] } {
  const calls = [...texts].flatMap(([path, text]) =>
    [...text.matchAll(/(?<![\w./-])gq ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?/g)].map(([, ...words]) => ({ path, words })),
  );
  const violations = calls.flatMap(({ path, words: [first, second] }) => {
    const entry = entries.find(({ name }) => name === first);
    const below = entry?.commands?.map(({ name }) => name) ?? [];
    // `gq verify` may be followed by a word of the sentence; a family's command never is by an argument.
    const isWrong =
      (entry === undefined && first !== 'help') || (below.length > 0 && isFormer(second) && !below.includes(second));
    return isWrong ? [`${path}: no command ${[first, entry && second].filter(Boolean).join(' ')}`] : [];
  });
  return { named: calls.length, violations };
}

const formerNames = [
  ...['eval-curve', 'elicit', 'probe', 'prefill-curve', 'report', 'export-log', 'bundle', 'problems check'],
  ...['gate', 'evasion', 'relearn', 'replay', 'traces', 'labels'],
];
const isFormer = (word: string | undefined): word is string =>
  formerNames.some((name) => name.split(' ').includes(word ?? ''));

function checkCommands(
  texts: Texts,
  known: ReadonlySet<string>,
  pattern: RegExp,
): { named: number; violations: string[] } {
  const found = [...texts].flatMap(([path, text]) => [...text.matchAll(pattern)].map(([, name]) => ({ path, name })));
  const unknown = found.filter(({ name }) => !known.has(name));
  return { named: found.length, violations: unknown.map(({ path, name }) => `${path}: no command ${name}`) };
}

const npmScript = /npm run ([a-z][\w:-]*)/g;

/** Checks recipes anywhere, and other paths of the repository in backticks. `*`, `{` and capitals stand for any name. */
function checkPaths(texts: Texts, known: readonly string[]): { named: number; violations: string[] } {
  const named = [...texts].flatMap(([page, text]) => {
    const recipes = text.matchAll(/(?<![\w./-])(recipes\/[\w.*-]*\w[\w.*-]*)/g);
    const quoted = text.matchAll(/`((?:src|test|bench|data|docs|models|scripts)\/[^`\s]*)`/g);
    return [...recipes, ...quoted].map(([, path]) => ({ page, path: path.replace(/[./]$/, '') }));
  });
  const holds = (path: string): boolean => {
    const open = path.search(/[*{<]|(?<![a-z])[A-Z]/);
    if (open >= 0) return known.some((each) => each.startsWith(path.slice(0, open)));
    return known.some((each) => each === path || each.startsWith(`${path}/`));
  };
  const missing = named.filter(({ path }) => !holds(path));
  return { named: named.length, violations: missing.map(({ page, path }) => `${page}: ${path} does not exist`) };
}

it('the audit has as many rows of each kind as it says', () => {
  const audit = readText('docs/seed-audit.md');
  const rows = [...audit.matchAll(/^\| (\d+|new) +\| [^|]+ \| (\*\*missing|works, no result|\**works)/gm)];
  const countOf = (kind: RegExp) => rows.filter(([, , said]) => kind.test(said)).length;
  const without = rows.filter(([, , said]) => said === 'works, no result').map(([, number]) => number);
  const said = `**${rows.length} rows: ${countOf(/^\**works$/)} work, ${without.length} work without the result that they ask for (${without.join(', ')}), ${countOf(/missing/)} are missing**`;
  expect(audit).toContain(said);
  expect(audit.match(/^\| (?:\d+|new) +\|/gm)).toHaveLength(rows.length);
});

it('every row of the audit names a test, or says that it is about a page', () => {
  const rows = readText('docs/seed-audit.md').match(/^\| (?:\d+|new) +\|.*$/gm) ?? [];
  const shown = rows.map((row) => row.split(' | ').at(-1) ?? '');
  expect(shown.filter((cell) => !/\.test\.ts`/.test(cell) && !cell.startsWith('a page, '))).toEqual([]);
  expect(shown.length).toBeGreaterThan(60);
});

describe('the pages', () => {
  it('have every section of the method that source files cite', () => {
    const science = readText('docs/science.md');
    expect([...sectionsOf(science)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    const { cited, violations } = checkCitations(code, science);
    expect(violations).toEqual([]);
    expect(cited).toBeGreaterThan(10);
  });

  it('link to files and headings that exist', () => {
    const { links, violations } = checkLinks(pages, (path) => existsSync(join(root, path)));
    expect(violations).toEqual([]);
    expect(links).toBeGreaterThan(30);
  });

  it('name commands and scripts that exist', () => {
    const gq = checkCalls(pages, commandTable);
    const scripts = new Set(Object.keys(JSON.parse(readText('package.json')).scripts));
    const npm = checkCommands(pages, scripts, npmScript);
    expect([...gq.violations, ...npm.violations]).toEqual([]);
    expect(Math.min(gq.named, npm.named)).toBeGreaterThan(5);
  });

  it('have the reference page of the commands as they are', async () => {
    expect(readText('docs/commands.md')).toBe(commandsPage(await loadCommands()));
  });

  it('and recipes, examples and messages call no command by a name of before', () => {
    const others = files.filter((path) =>
      /^(?:recipes|examples|bench|src)\/.*\.(?:toml|[jt]sx?|md|ipynb)$|^docs\/.*\.ipynb$/.test(path),
    );
    const texts = readSources(others.filter((path) => !path.endsWith('.test.ts')));
    const former = formerNames.map((name) => new RegExp(`(?<![\\w./-])gq ${name}(?![\\w-])`));
    const found = [...texts].flatMap(([path, text]) =>
      former.flatMap((name) => (name.test(unwrap(text)) ? [`${path}: ${name.source}`] : [])),
    );
    expect(texts.size).toBeGreaterThan(100);
    expect(found).toEqual([]);
  });

  it('call programs of bench with the Node that npm ci installs: the oldest that the package runs on reads no TypeScript', () => {
    const calls = [...pages].flatMap(([path, text]) => [...text.matchAll(/(\S+ )?\bnode bench\/\S+/g)].map(([call]) => [path, call])); // biome-ignore format: one line
    expect(calls.length).toBeGreaterThan(3);
    expect(calls.filter(([, call]) => !/\bnpx node /.test(call))).toEqual([]);
  });

  it('name recipes, files and folders that exist', () => {
    const { named, violations } = checkPaths(pages, files);
    expect(violations).toEqual([]);
    expect(named).toBeGreaterThan(20);
  });
});

describe('planted mistakes are caught', () => {
  const one = (text: string): Texts => new Map([['docs/a.md', text]]);

  it.each([
    ['/** See docs/science.md, section 11. */', ['docs/a.md: docs/science.md has no section 11']],
    ['/** See docs/science.md, sections 1 and\n * 12. */', ['docs/a.md: docs/science.md has no section 12']],
    ['/** See docs/science.md. */', ['docs/a.md: "docs/science.md" cites no section']],
    ['/** See SCIENCE, section 1. */', ['docs/a.md: "SCIENCE, section 1" cites no section']],
    ['/** See docs/science.md,\n * sections 1 and 2. */', []],
  ])('citation %j', (text, violations) => {
    const science = '<a id="section-1"></a>\n\n## 1. One\n\n<a id="section-2"></a>\n\n## 2. Two\n\n## 12. No anchor\n';
    expect(checkCitations(one(text), science).violations).toEqual(violations);
  });

  it.each([
    ['[b](b.md)', ['docs/a.md: b.md leads nowhere']],
    ['![p](figures/p.svg)', ['docs/a.md: figures/p.svg leads nowhere']],
    ['<img src="p.svg">', ['docs/a.md: p.svg leads nowhere']],
    ['# Here\n[c](#there)', ['docs/a.md: #there: no such heading']],
    ['[d](../README.md#part-3)', ['docs/a.md: ../README.md#part-3: no such heading']],
    ['## The `gq` way, now\n[e](#the-gq-way-now) [f](../README.md#part-2) [g](https://x.org/y) `[h](i.md)`', []],
  ])('link %j', (text, violations) => {
    const texts = new Map([...one(text), ['README.md', '<a id="part-2"></a>\n']]);
    expect(checkLinks(texts, (path) => texts.has(path)).violations).toEqual(violations);
  });

  it.each([
    ['`gq trian recipe.toml`', ['docs/a.md: no command trian']],
    ['```sh\nnpx gq eval-curve RUN\n```', ['docs/a.md: no command eval-curve']],
    ['`gq verify gate`', ['docs/a.md: no command verify gate']],
    ['`gq train`, `gq COMMAND --help`, src/cli/gq.ts, `gq verify arm`, `gq verify` checks', []],
  ])('command %j', (text, violations) => {
    expect(checkCalls(one(text), commandTable).violations).toEqual(violations);
  });

  it.each([
    ['gq train recipes/gone.toml', ['docs/a.md: recipes/gone.toml does not exist']],
    ['see recipes/none-*', ['docs/a.md: recipes/none-* does not exist']],
    ['`src/gone`', ['docs/a.md: src/gone does not exist']],
    ['`src/grpo`, `src/grpo/NAME.ts`, recipes/micro-*, recipes/micro-base.toml, runs/recipes/x.toml', []],
  ])('path %j', (text, violations) => {
    expect(checkPaths(one(text), ['recipes/micro-base.toml', 'src/grpo/step.ts']).violations).toEqual(violations);
  });
});

describe('programs on the pages', () => {
  const examples = new Map(
    listFiles()
      .filter((path) => /^examples\/.*\.[jt]s$/.test(path))
      .map((path) => [path, readText(path)]),
  );
  /** Blocks of JavaScript or TypeScript that import the package; a test must run what readers may copy. */
  const blocksOf = (text: string): string[] =>
    [...text.matchAll(/^```[jt]s\n(.*?)^```/gms)]
      .map(([, block]) => block.trim())
      .filter((block) => block.includes("'gradient-quarantine"));
  /** Compares line by line, so that a page may leave out lines where it writes `// …`. */
  const isShown = (block: string): boolean => {
    const lines = block.split('\n').map((line) => line.trim());
    const shown = lines.filter((line) => line !== '' && !line.startsWith('// …'));
    return [...examples.values()].some((text) => {
      const own = new Set(text.split('\n').map((line) => line.trim()));
      return shown.every((line) => own.has(line));
    });
  };
  const pages = listFiles().filter((path) => /^(README\.md|docs\/.*\.md)$/.test(path));

  it('stand in examples/, line for line', () => {
    const blocks = pages.flatMap((page) => blocksOf(readText(page)).map((block) => ({ page, block })));
    expect(blocks.length).toBeGreaterThan(3);
    expect(
      blocks.filter(({ block }) => !isShown(block)).map(({ page, block }) => `${page}: ${block.slice(0, 80)}`),
    ).toEqual([]);
    expect(blocksOf(readText('README.md'))).toHaveLength(1);
  });

  it('a planted one that no example has is caught', () => {
    const [block] = blocksOf("```ts\nimport { openLab } from 'gradient-quarantine';\n```\n");
    expect(isShown(block)).toBe(false);
  });
});

it('README has at most 120 lines of 100 columns', () => {
  const lines = readText('README.md').trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(120);
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
});

describe('the changelog', () => {
  const groups = ['Breaking', 'New', 'Fixed'];
  /** What is wrong with the versions of a changelog: more than a page, or groups of another name or order. */
  const faultsOf = (text: string): string[] =>
    text
      .split(/^## /m)
      .slice(1)
      .flatMap((section) => {
        const [version, ...lines] = section.split('\n');
        const words = lines.join(' ').match(/\S+/g)?.length ?? 0;
        const headings = lines.filter((line) => line.startsWith('#')).map((line) => line.replace(/^#+ /, ''));
        const isGrouped = headings.join() === groups.filter((group) => headings.includes(group)).join();
        return [
          ...(words > 650 ? [`${version}: ${words} words, 650 at most`] : []),
          ...(isGrouped ? [] : [`${version}: ${headings.join(', ')}`]),
        ];
      });

  it('has at most a page a version, in the same groups', () => {
    const text = readText('CHANGELOG.md');
    expect(faultsOf(text)).toEqual([]);
    expect(text.match(/^## /gm)?.length).toBeGreaterThan(2);
  });

  it.each([
    [`## 1.0.0\n\n### New\n\n${'word '.repeat(648)}\n`, []],
    [`## 1.0.0\n\n### New\n\n${'word '.repeat(649)}\n## 0.9.0\n`, ['1.0.0: 651 words, 650 at most']],
    ['## 1.0.0\n\n### Added\n', ['1.0.0: Added']],
    ['## 1.0.0\n\n### Fixed\n\n### Breaking\n', ['1.0.0: Fixed, Breaking']],
  ])('planted %#', (text, faults) => {
    expect(faultsOf(text)).toEqual(faults);
  });
});

it('guides that name sources say that the package does not have them', () => {
  const naming = listFiles().filter(
    (path) => /^docs\/guide\/.*\.md$/.test(path) && /`(?:src|test)\//.test(readText(path)),
  );
  expect(naming.filter((path) => !readText(path).includes('the npm package does not have them'))).toEqual([]);
  expect(naming.length).toBeGreaterThan(5);
});

describe('what a newcomer reads before a gate', () => {
  const guide = 'docs/guide/add-a-gate.md';

  it('shows a prompt, an honest answer and a hack as the shipped pairs have them', () => {
    const section = readText(guide).split('## What a monitor reads\n')[1]?.split('\n## ')[0] ?? '';
    const blocks = [...section.matchAll(/^(`{3,})text\n(.*?)\n\1$/gms)].map(([, , text]) => text);
    const pairs = readText('data/pairs/micro.md');
    const shown = pairs.slice(pairs.indexOf('### run_tests 1'), pairs.indexOf('### run_tests 2'));
    const places = blocks.map((text) => shown.indexOf(text));
    expect(places.every((place) => place > 0)).toBe(true);
    const [prompt, clean, hack] = places;
    expect([prompt < hack, hack < shown.indexOf('\nClean:'), shown.indexOf('\nClean:') < clean]).toEqual([true, true, true]); // biome-ignore format: one line
    expect(blocks).toHaveLength(3);
  });

  /** Recipes on a page and settings in a shell that say a watching arm in the other way, by `[arm.monitor]`. */
  const otherWay = (text: string): string[] =>
    [...text.matchAll(/^\[arm\.monitor\]$|(?:--set |")arm\.monitor\.[\w.=-]+/gm)].map(([found]) => found);

  it('says a monitor and its remedy as [monitor] and [remedy], on every page and in every example', () => {
    const read = files.filter((path) =>
      /^docs\/(?:guide\/.*|baselines|micro-lab)\.md$|^examples\/.*\.toml$/.test(path),
    );
    expect(read.flatMap((path) => otherWay(readText(path)).map((found) => `${path}: ${found}`))).toEqual([]);
    expect(otherWay('[arm.monitor]\ngq train x --set arm.monitor.kind=probe')).toHaveLength(2);
    expect(readText('docs/guide/first-hour.md')).toContain(
      readText('examples/own-monitor.toml').replace(/^#.*\n/gm, ''),
    );
  });

  it('names the placebo of every gate in the study of a new project, and says that a second gate needs its own', () => {
    const { arms } = parseToml(readText('examples/project/study.toml')) as { arms: { placebos?: string[] }[] };
    expect(arms.map(({ placebos }) => placebos)).toEqual([undefined, ['random'], undefined]);
    for (const path of [guide, 'examples/project/study.toml']) {
      expect(readText(path)).toMatch(/^placebos = \[".*# its own/m);
      for (const setting of ['monitor.kind=chance', 'remedy.placebo=mass-matched'])
        expect(readText(path)).toContain(setting);
      // Both placebos route as many as something flags: in which run is said, since the share of one run may be several times that of another.
      expect(readText(path)).toContain('gq measure monitor');
      expect(readText(path)).not.toContain('same number of routes');
    }
  });

  it('defines no word that it calls unused', () => {
    const [used, unused] = readText('docs/glossary.md').split('## Words that are not used');
    const banned = [...unused.matchAll(/^- ([^:]*?)(?: alone| as a rate| for [^:]*)?:/gm)]
      .filter(([line]) => !/ alone| as a rate| for /.test(line))
      .flatMap(([, words]) => [...words.matchAll(/_([^_]+)_/g)].map(([, word]) => word));
    expect(banned.length).toBeGreaterThan(2);
    expect(banned.filter((word) => used.includes(`\n| ${word} `))).toEqual([]);
  });

  it('means one thing by a gate: a monitor, a cut and the remedy route', () => {
    const saying = /monitor[^|.]*\bcuts?\b[^|.]*\bremedy `route`/;
    const pages = ['docs/glossary.md', 'docs/guide/first-hour.md', guide, 'examples/project/README.md'];
    expect(pages.filter((path) => !saying.test(readText(path).replace(/[\s_]+/g, ' ')))).toEqual([]);
  });
});
