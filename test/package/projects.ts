/**
 * What somebody does with the packed package, in an empty project: installs it, writes a project by `gq init`, types every command of its
 * README, and bundles programs by esbuild and Vite. A project is of a kind (`"type"` of its package.json) and has a Node.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { build as esbuild } from 'esbuild';
import { build as vite } from 'vite';
import { root } from '../architecture/files.ts';

export type Check = (name: string, body: () => unknown) => Promise<void>;
export type Project = { readonly folder: string; readonly node: string; readonly label: string };

/** The commands of the first block of a page, as they are typed: without their comments. */
const commandsOf = (page: string): string[] =>
  (/^```sh\n(.*?)^```/ms.exec(page)?.[1] ?? '').trim().split('\n').map((line) => line.replace(/ +#.*$/, '')); // biome-ignore format: one line

/** As in a terminal: by a shell, in a folder, with the project's Node and without what npm adds. */
function shellOf({ node }: Project, folder: string) {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_') && name !== 'GQ_NAME');
  const PATH = [dirname(node), ...(process.env['PATH'] ?? '').split(delimiter)].filter((at) => !at.endsWith('.bin'));
  return { cwd: folder, env: { ...Object.fromEntries(kept), PATH: PATH.join(delimiter) }, encoding: 'utf8' } as const;
}

function typed(project: Project, folder: string, line: string): string {
  return execFileSync('bash', ['-c', line], { ...shellOf(project, folder), stdio: ['ignore', 'pipe', 'pipe'] });
}

/** A command that serves until it is ended: right once it has said where. */
function serves(project: Project, folder: string, line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', `exec ${line}`], { ...shellOf(project, folder), detached: true });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (text) => {
        said += text;
        // The negative number is npx with all that it started.
        if (/http:\/\/\S+/.test(said)) process.kill(-(child.pid ?? 0), 'SIGTERM');
      });
    }
    child.on('close', () => (said.includes('http://') ? resolve() : reject(new Error(said))));
  });
}

export function makeProject(at: string, type: string, tarball: string, node: string, label: string): Project {
  const project = { folder: at, node, label: `${label}, ${type} project` };
  mkdirSync(at);
  writeFileSync(join(at, 'package.json'), JSON.stringify({ name: 'mine', private: true, type }));
  const { status, stdout, stderr } = spawnSync('npm', ['install', tarball], { cwd: at, encoding: 'utf8' });
  // Of the settings of this machine's npm the package knows nothing.
  const warnings = stderr.split('\n').filter((line) => /warn (?!Unknown \w+ config)/i.test(line));
  if (status !== 0 || warnings.length > 0) throw new Error(`npm install ended with ${status}: ${stdout}${stderr}`);
  return project;
}

/** The types of every entry compile, those of the package too, where no optional package is installed. */
export async function checkTypes({ folder, label }: Project, entries: readonly string[], check: Check): Promise<void> {
  const file = join(folder, 'types.mts');
  writeFileSync(file, entries.map((entry, i) => `export * as entry${i} from '${entry}';\n`).join(''));
  const options = '--noEmit --strict --module nodenext --target esnext --lib esnext,dom --types node'.split(' ');
  await check(`${label}: types of ${entries.length} entries`, () => {
    const compiler = join(root, 'node_modules/.bin/tsc');
    const { stdout } = spawnSync(compiler, [...options, '--typeRoots', join(root, 'node_modules/@types'), file], {
      cwd: folder,
      encoding: 'utf8',
    });
    if (stdout !== '') throw new Error(stdout);
  });
}

export async function checkInit(project: Project, check: Check): Promise<void> {
  const { folder, label } = project;
  const lab = join(folder, 'my lab');
  let said = '';
  await check(`${label}: npx gq init`, () => {
    said = typed(project, folder, "npx gq init 'my lab'");
  });
  const page = readFileSync(join(lab, 'README.md'), 'utf8');
  for (const line of commandsOf(page)) {
    await check(`${label}: ${line}`, () => (/ view /.test(line) ? serves : typed)(project, lab, line));
  }
  for (const [, line] of page.matchAll(/`(npx gq [^`]+)`/g)) {
    if (line.includes('updates=100')) continue; // ten minutes of the very command above
    await check(`${label}: ${line}`, () => typed(project, lab, line));
  }
  await check(`${label}: what gq init says comes next`, () => {
    const lines = [...said.matchAll(/^ {2}((?:cd|npx gq) .*)$/gm)].map(([, line]) => line);
    if (lines.length !== 3) throw new Error(said);
    typed(project, folder, lines.join(' && '));
  });
  await check(`${label}: results of the study are stamped`, () => {
    const out = typed(project, lab, 'npx gq results runs/my-study');
    if (!out.includes('n = 2, no claim') || !/gate − random/.test(out)) throw new Error(out);
  });
  await check(`${label}: a plugin with import in a .js file`, () => checkScriptPlugin(project, lab));
}

/** The package by the path of a clone: what gq init writes names that path, imports the package, and its recipe resolves. */
export async function checkLinked(project: Project, clone: string, check: Check): Promise<void> {
  const { folder, label } = project;
  await check(`${label}: npx gq init`, () => {
    typed(project, folder, 'npx gq init lab');
    const page = readFileSync(join(folder, 'lab/README.md'), 'utf8');
    if (!page.includes(`npm install ${clone.replace(/\/$/, '')}\``)) throw new Error(page);
  });
  for (const line of ['node --test gate.test.mjs', 'npx gq config recipe.toml']) {
    await check(`${label}: ${line}`, () => typed(project, join(folder, 'lab'), line));
  }
}

/** In a commonjs project such a file is no module: the message says how to name it. In an ESM project it loads. */
function checkScriptPlugin(project: Project, lab: string): void {
  cpSync(join(lab, 'gate.mjs'), join(lab, 'gate.js'));
  const recipe = readFileSync(join(lab, 'recipe.toml'), 'utf8').replace('gate.mjs', 'gate.js');
  writeFileSync(join(lab, 'script.toml'), recipe);
  const out = typed(project, lab, 'npx gq config script.toml 2>&1 || true');
  const right = project.label.includes('commonjs') ? 'gate.mjs' : 'second-function';
  if (!out.includes(right)) throw new Error(out);
}

const program = `import { createWasmDevice, readFloats, Scope } from 'gradient-quarantine/engine';
const device = await createWasmDevice({ threads: 1, variant: 'plain', arenaBytes: 2 ** 26 });
const scope = new Scope(device);
console.log(device.variant, ...(await readFloats(scope.zeros([2], 'zeros'))));
`;

/** What the page says of bundles: its program by its commands, with the kernels beside it or where its `loadModule` reads them; without, it says so. */
function checkBundlesPage(project: Project): void {
  const { folder, node } = project;
  const section = /^## Bundles$.*?(?=^## )/ms.exec(readFileSync(join(root, 'docs/interop.md'), 'utf8'))?.[0] ?? '';
  const block = (language: string): string =>
    new RegExp(`^\`{3}${language}\n(.*?)^\`{3}`, 'ms').exec(section)?.[1] ?? '';
  const own = `import { createWasmDevice } from 'gradient-quarantine/engine';\n${block('js')}`;
  const [bundle, copy] = block('sh').trim().replace('npx esbuild', join(root, 'node_modules/.bin/esbuild')).split('\n');
  const expectSaid = (text: string, right: RegExp): void => {
    writeFileSync(join(folder, 'program.mjs'), text);
    typed(project, folder, bundle);
    const { stdout, stderr } = spawnSync(node, ['out/program.mjs'], { cwd: folder, encoding: 'utf8' });
    if (!right.test(stdout + stderr)) throw new Error(stdout + stderr);
  };
  const plain = own.replace('{ loadModule }', '{}');
  if (plain === own) throw new Error('docs/interop.md: its program gives no loadModule');
  expectSaid(plain, /In a bundle: copy the folder .* loadModule/);
  typed(project, folder, copy);
  expectSaid(plain, /^(?:plain|relaxed|wide)\n$/);
  renameSync(join(folder, 'out/kernels'), join(folder, 'out/assets'));
  expectSaid(own, /^(?:plain|relaxed|wide)\n$/);
  const trains = "import { shippedRecipe } from 'gradient-quarantine';\nconsole.log(shippedRecipe('micro-vanilla'));\n";
  expectSaid(trains, /In a bundle: keep the package out of it with --external:gradient-quarantine/);
}

/** Bundles for Node by both, run there; and the trainer for browsers, which must import nothing of Node's. */
export async function checkBundles(project: Project, check: Check): Promise<void> {
  const { folder, node, label } = project;
  const entry = join(folder, 'program.mjs');
  writeFileSync(entry, program);
  const optional = ['koffi', '@resvg/resvg-js', 'webgpu'];
  const expectRuns = (file: string): void => {
    const out = execFileSync(node, [file], { cwd: folder, encoding: 'utf8' });
    if (out !== 'plain 0 0\n') throw new Error(out);
  };
  await check(`${label}: esbuild, for Node, with the kernels beside the bundle`, async () => {
    const out = join(folder, 'by-esbuild');
    await esbuild({ entryPoints: [entry], bundle: true, platform: 'node', format: 'esm', outfile: join(out, 'program.mjs'), external: optional }); // biome-ignore format: one line
    cpSync(join(folder, 'node_modules/gradient-quarantine/dist/engine/wasm/kernels'), join(out, 'kernels'), { recursive: true }); // biome-ignore format: one line
    expectRuns(join(out, 'program.mjs'));
  });
  await check(`${label}: Vite, for Node`, async () => {
    const outDir = join(folder, 'by-vite');
    await vite({ root: folder, configFile: false, logLevel: 'error', ssr: { noExternal: true, external: optional }, build: { ssr: entry, outDir, rollupOptions: { output: { entryFileNames: 'program.mjs' } } } }); // biome-ignore format: one line
    cpSync(join(folder, 'node_modules/gradient-quarantine/dist/engine/wasm/kernels'), join(outDir, 'kernels'), { recursive: true }); // biome-ignore format: one line
    expectRuns(join(outDir, 'program.mjs'));
  });
  await check(`${label}: bundles as docs/interop.md says`, () => checkBundlesPage(project));
  const page = join(folder, 'page.mjs');
  writeFileSync(page, "export { TabLab } from 'gradient-quarantine/browser';\n");
  const expectPage = (at: string): void => {
    const texts = readdirSync(at, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.m?js$/.test(file))
      .map((file) => readFileSync(join(at, file), 'utf8'));
    if (!texts.some((text) => text.includes('TabLab'))) throw new Error(`no TabLab in ${at}`);
    const nodes = texts.flatMap((text) => text.match(/(?:from|import)\s*\(?\s*["'](?:node:[^"']*|webgpu)["']/g) ?? []);
    if (nodes.length > 0) throw new Error(`imports of Node's: ${nodes.join(', ')}`);
  };
  await check(`${label}: esbuild, for browsers`, async () => {
    const outdir = join(folder, 'page-esbuild');
    await esbuild({ entryPoints: [page], bundle: true, platform: 'browser', format: 'esm', outdir });
    expectPage(outdir);
  });
  await check(`${label}: Vite, for browsers`, async () => {
    const outDir = join(folder, 'page-vite');
    await vite({ root: folder, configFile: false, logLevel: 'error', build: { outDir, lib: { entry: page, formats: ['es'] }, minify: false } }); // biome-ignore format: one line
    expectPage(outDir);
  });
}
