/**
 * The architecture as a table. `rows` are in reading order: a file may import the folders of its own row and of those
 * before it, so `base … monitors` can never reach `oracle`. An index is the short
 * way to a folder; whoever needs little of one imports its file, so that reading results loads no engine. `owners` are the
 * packages only some folders may touch, `bundled` those that are no runtime dependency, `loaders` the files that may import a module
 * whose name they compute. Unit tests beside their source (`name.test.ts`) may import any file, test/ and any installed package, except that no test of `base … monitors` may
 * reach `oracle`; nothing may import a test. Nothing else in src imports from outside src.
 */
import { isBuiltin } from 'node:module';
import { readReferences, resolveRelative } from './modules.ts';

const rows: readonly (readonly string[])[] = [
  ['base'],
  ['stats'],
  ['engine'],
  ['engine/reference'],
  ['engine/wasm'],
  ['engine/cuda'],
  ['engine/webgpu'],
  ['parallel'],
  ['model'],
  ['adapters'],
  ['gates'],
  ['env', 'env/sandbox'],
  ['pretrain'],
  ['grpo'],
  ['monitors'],
  ['run'],
  ['oracle'],
  ['evaluate'],
  ['lab'],
  ['browser'],
  ['serve'],
  ['verify'],
  ['export'],
  ['measure'],
  ['report'],
  ['study'],
  ['view'],
  ['view/page'],
  ['cli'],
  ['entry'],
];
const ranks = new Map(rows.flatMap((row, rank) => row.map((folder): [string, number] => [folder, rank])));

const owners: Readonly<Record<string, readonly string[]>> = {
  koffi: ['engine/cuda', 'parallel'],
  webgpu: ['engine/webgpu'],
  commander: ['cli'],
  'node:child_process': ['env/sandbox', 'parallel', 'study', 'verify'],
  'node:cluster': ['env/sandbox'],
  'node:worker_threads': ['base', 'engine/wasm'],
};

/** Development packages that a folder may import: what is bundled into the page or (report/code.ts) into a file of the package, and what bundles it. */
const bundled: Readonly<Record<string, string>> = {
  preact: 'view/page',
  '@preact/signals': 'view/page',
  lowlight: 'report',
  'highlight.js': 'report',
  // Written with a slash at its end; without one it is Node's.
  buffer: 'view/page',
  esbuild: 'view',
};

/** Files that may import computed names. Plugins are the user's own modules, named by a recipe, and Pyodide lies beside a page that was made with it, so no test can follow them. */
const loaders: ReadonlySet<string> = new Set(['src/lab/plugins.ts', 'src/browser/python/process.ts']);

/** Ways to open a file that wait for a pipe or follow a link; `base/node/regular-file.ts` has those that do neither. */
const opening =
  /^(?:open|openSync|openAsBlob|readFile|readFileSync|writeFile|writeFileSync|appendFile|appendFileSync|truncate|truncateSync|copyFile|copyFileSync|cp|cpSync|createReadStream|createWriteStream|promises)$/;

/** Files that may: they open files of the package, of /proc, or of the user's own cache. */
const openers: ReadonlySet<string> = new Set([
  'src/engine/cuda/compiler.ts',
  'src/env/sandbox/idle-watch.ts',
  'src/model/hub/download.ts',
]);

function judgeOpening(path: string, text: string): string[] {
  if (isTest(path) || openers.has(path) || path.startsWith('src/base/node/')) return [];
  const imports = [
    ...text.matchAll(/import\s+(?:\{([^}]*)\}|(\S+|\*\s+as\s+\S+))\s+from\s+'(?:node:)?fs(?:\/promises)?'/g),
  ];
  const names = imports.flatMap(([, listed, whole]) => listed?.split(',') ?? [whole]);
  return names
    .map((name) => name.trim().replace(/\s+as\s.*$/, ''))
    .filter((name) => opening.test(name) || name === '*' || name === 'fs')
    .map((name) => `${path}: opens files by ${name}: take base/node/regular-file.ts`);
}

const isTest = (path: string) => path.endsWith('.test.ts');

/** The deepest folder of the table that holds a path; undefined if none does. */
function folderOf(path: string): string | undefined {
  const holding = [...ranks.keys()].filter((folder) => path.startsWith(`src/${folder}/`));
  return holding.sort((a, b) => b.length - a.length)[0];
}

const rankOf = (path: string) => ranks.get(folderOf(path) ?? '') ?? -1;
const isBlind = (path: string) => rankOf(path) <= (ranks.get('monitors') ?? -1);

function packageOf(specifier: string): string {
  if (isBuiltin(specifier)) return specifier.startsWith('node:') ? specifier : `node:${specifier}`;
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

function judgePackage(path: string, specifier: string, dependencies: ReadonlySet<string>): string[] {
  const name = packageOf(specifier);
  const owner = owners[name];
  if (isTest(path)) return [];
  if (bundled[name] !== undefined && bundled[name] === folderOf(path)) return [];
  // What these import from other folders is bundled as package.json (`browser`) says: src/view/build-page.test.ts.
  if (isBuiltin(name) && /^src\/(?:browser|base\/browser|view\/page)\//.test(path)) {
    return [`${path}: a browser has no ${name}`];
  }
  if (owner !== undefined && !owner.includes(folderOf(path) ?? '')) {
    return [`${path}: only ${owner.join(' and ')} may import ${name}`];
  }
  if (!isBuiltin(name) && !dependencies.has(name)) return [`${path}: ${name} is not a runtime dependency`];
  return [];
}

function judgeModule(path: string, target: string, sources: ReadonlyMap<string, string>): string[] {
  if (isTest(path) && target.startsWith('test/')) return [];
  if (!target.startsWith('src/')) return [`${path}: imports ${target}, outside src`];
  if (!sources.has(target)) return [`${path}: imports ${target}, which does not exist`];
  if (isTest(target)) return [`${path}: imports the test ${target}`];
  if (isTest(path)) return [];
  if (rankOf(target) > rankOf(path)) {
    return [`${path}: ${folderOf(path)} may not import ${folderOf(target)} (${target})`];
  }
  return [];
}

/** The shortest chain of imports from `start` to a file of oracle, or undefined. */
function chainToOracle(start: string, graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const chains = [[start]];
  const seen = new Set([start]);
  for (const chain of chains) {
    const last = chain[chain.length - 1];
    if (folderOf(last) === 'oracle') return chain;
    for (const next of graph.get(last) ?? []) {
      if (!seen.has(next)) chains.push([...chain, next]);
      seen.add(next);
    }
  }
  return undefined;
}

export interface ImportReport {
  readonly filesRead: number;
  readonly violations: readonly string[];
}

/** Checks every module of `sources` (path → text, all under src/). */
export function checkImports(sources: ReadonlyMap<string, string>, dependencies: ReadonlySet<string>): ImportReport {
  const violations: string[] = [];
  const graph = new Map<string, string[]>();
  for (const [path, text] of sources) {
    if (folderOf(path) === undefined) violations.push(`${path}: its folder is not in the table`);
    const { specifiers, opaque, computed } = readReferences(path, text);
    const unfollowed = loaders.has(path) ? opaque : [...opaque, ...computed];
    const targets = specifiers.filter((each) => each.startsWith('.')).map((each) => resolveRelative(path, each));
    graph.set(path, targets);
    const packages = specifiers.filter((each) => !each.startsWith('.'));
    violations.push(...unfollowed.map((found) => `${path}: cannot follow ${found}: name the module literally`));
    violations.push(...judgeOpening(path, text));
    violations.push(...packages.flatMap((specifier) => judgePackage(path, specifier, dependencies)));
    if (folderOf(path) !== undefined)
      violations.push(...targets.flatMap((target) => judgeModule(path, target, sources)));
  }
  for (const path of graph.keys()) {
    const chain = isBlind(path) ? chainToOracle(path, graph) : undefined;
    if (chain !== undefined) violations.push(`${path}: reaches oracle: ${chain.join(' → ')}`);
  }
  return { filesRead: graph.size, violations };
}
