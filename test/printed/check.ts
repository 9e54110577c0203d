/**
 * `npm run check:printed`: every command that a page, a recipe's comment, a help text, a report or the end of another command prints is typed in a shell,
 * in a folder as its reader has it (world.ts), and ends well. table.ts names all that is made smaller, refused or run elsewhere, with
 * reasons. Words after `--` choose lines that have them, `--jobs N` types so many side by side, `--again` takes the
 * folder that an earlier check left and, unless words choose some, types only the lines that did not hold in it: what was
 * interrupted goes on, what was mended is tried. Exits 1 if anything is wrong.
 */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../architecture/files.ts';
import { readFolder } from '../golden-study/study.ts';
import { HubServer } from '../hub/hub-server.ts';
import { commandsOf, inExamples, inHelp, inRecipes, inReport, onPages, type Printed } from './commands.ts';
import { Shell } from './shell.ts';
import { type Treatment, treatments } from './table.ts';
import { installGq, makeWorld } from './world.ts';

const { positionals: chosen, values } = parseArgs({
  allowPositionals: true,
  options: { again: { type: 'boolean' }, jobs: { type: 'string', default: `${availableParallelism()}` } },
});
const home = join(root, '.build/printed');
const [world, programs, heldFile] = ['world', 'bin', 'held.txt'].map((name) => join(home, name));

/** Pages whose commands are typed elsewhere, in order, with what goes before them. */
const elsewhere: Readonly<Record<string, string>> = {
  'docs/guide/qwen3-4b.md': 'test/lab/guide-qwen.test.ts',
  'docs/guide/small-models.md': 'test/lab/small-models.test.ts',
  'examples/project/README.md': 'npm run test:package',
};

/** Wrong calls whose message says what to type: that is typed next. */
const wrongCalls: readonly Printed[] = [
  'gq train no-such-recipe',
  'gq view no-such-folder',
  'gq eval runs/micro-claim --elicit',
  'gq model inspect Qwen/Qwen3-8B',
  'rm -r runs/micro-claim/vanilla-1/evaluations; gq results runs/micro-claim',
  'gq train micro-activation --set pairs.file=TEST',
].map((line) => ({ path: 'a wrong call', line }));

const words: Readonly<Record<string, string>> = { RATE: '4e-4', '…': 'secret' };
const filled = (command: string): string =>
  command.replace(/RATE|…/g, (word) => words[word]).replace(/^(?:npx|nohup) /, '');

const treatmentOf = (command: string): Treatment | undefined => treatments.find(({ fits }) => fits.test(command));

/** Commands that the end of another names: at the end of a line, by themselves or after a colon. */
const nextOf = (said: string): string[] =>
  [...said.matchAll(/(?:^ {2,}|: )(gq [a-z][^\n,]*?)(?: {2,}# [^\n]*|, [^\n]*)?[.)]?$/gm)]
    .map(([, command]) => command)
    .filter((command) => !/--help$/.test(command));

/** Commands in the reports that a command says it has written, but the one that wrote it. */
const inReports = (place: string, said: string, command: string): string[] =>
  [...said.matchAll(/^(\S+\.html)(?=:|$)/gm)]
    .flatMap(([, file]) => inReport(readFileSync(resolve(place, file), 'utf8')).lines)
    .filter((line) => !line.startsWith(command));

async function typeCommand(
  shell: Shell,
  place: string,
  command: string,
): Promise<{ readonly fault: string | null; said: string }> {
  const { more = '', ends, says, serves } = treatmentOf(command) ?? {};
  // Of a redirection the end is not the end of the command.
  const [, call, rest = ''] = /^(.*?)( >>? \S+)?$/.exec(command) ?? [];
  const line = `${call}${typeof more === 'string' ? more : more(call)}${rest}`;
  const { code, said } = await shell.type(place, line, serves);
  const isRight = code === 0 || (code === ends && (says === undefined || says.test(said)));
  return { fault: isRight ? null : `${line}\n  ended with ${code}: ${said.slice(-1500)}`, said };
}

/** What a command makes must not be there yet, unless it overwrites. */
function clearTargets(place: string, command: string): void {
  if (treatmentOf(command)?.more === ' --force') return;
  const named = [...command.matchAll(/--(?:out|to|write|figures) (\S+)/g)].map(([, target]) => target);
  const [, recipe] = /\bexperiment (?:recipes\/)?([\w-]+)/.exec(command) ?? [];
  const usual = [
    ...(recipe === undefined ? [] : [`runs/${recipe}`]),
    ...(/gq demo/.test(command) ? ['runs/demo-quick-1'] : []),
    ...(/gq train (?!.*--(?:out|resume) )/.test(command) ? ['runs/activation-1', 'runs/vanilla-1'] : []),
  ];
  for (const target of [...named, ...usual]) {
    if (command.includes(`--from ${target}`)) continue;
    for (const path of [target, `${target}.provenance.json`])
      rmSync(join(place, path), { recursive: true, force: true });
  }
}

/** What fills the experiments whose claims a line reads, as another line says it. */
function makersOf(line: string): string[] {
  if (line.includes('experiment')) return [];
  const printed = [...onPages, ...inRecipes].flatMap((other) => commandsOf(other.line));
  return [...line.matchAll(/gq claim (?:open )?(runs\/([\w-]+))/g)].flatMap(([, folder, name]) => {
    const named = new RegExp(`experiment .*--out ${folder}(?: |$)|experiment (?:recipes/)?${name}\\b(?!.*--out)`);
    return printed.find((command) => named.test(command)) ?? [];
  });
}

/** Whatever a queue started is ended with the folder. */
function endQueue(place: string): void {
  const lock = join(place, 'queue/lock.json');
  if (!existsSync(lock)) return;
  try {
    process.kill(JSON.parse(readFileSync(lock, 'utf8')).pid, 'SIGTERM');
  } catch {
    // It has ended by itself.
  }
}

async function tryLine(shell: Shell, place: string, { path, line }: Printed, tried: Set<string>): Promise<string[]> {
  cpSync(world, place, { recursive: true, verbatimSymlinks: true });
  if (/gq queue \w+ 3/.test(line)) {
    for (const _ of [1, 2, 3]) await shell.expect(place, 'gq queue add doctor');
    // A job that is over can be done again; the others wait, work or are over.
    if (line.includes('retry')) for (const id of [1, 2, 3]) await shell.expect(place, `gq queue follow ${id}`);
  }
  const faults: string[] = [];
  for (const maker of makersOf(line).map(filled)) {
    const { fault } = await typeCommand(shell, place, maker);
    if (fault !== null) faults.push(`${path}: before ${line}: ${fault}`);
  }
  const isWrong = path === 'a wrong call';
  const commands = isWrong ? [line] : commandsOf(line).map(filled);
  const printed = commands.length;
  for (let at = 0; at < commands.length; at++) {
    const command = commands[at];
    if (at === 0) clearTargets(place, command);
    const { fault, said } = await typeCommand(shell, place, command);
    // What a printed command names at its end is typed, and no further: a demo names the next seed for ever.
    const isLeft = at >= printed || treatmentOf(command)?.nextElsewhere !== undefined;
    const named = isLeft ? [] : [...nextOf(said), ...inReports(place, said, command)];
    const next = named.filter((each) => !tried.has(each) && !commands.includes(each));
    if (isWrong && at === 0) {
      if (named.length === 0) faults.push(`${line}\n  names no command to type next: ${said.slice(-500)}`);
    } else if (fault !== null) faults.push(`${path}: ${fault}`);
    for (const each of next) {
      tried.add(each);
      commands.push(each);
    }
  }
  endQueue(place);
  return faults;
}

const isChosen = ({ path, line }: Printed): boolean => chosen.every((word) => `${path} ${line}`.includes(word));
const all = [...onPages, ...inHelp, ...inRecipes, ...inExamples, ...wrongCalls].filter(isChosen);
const once = all.filter(
  ({ line }, i) => all.findIndex((other) => commandsOf(other.line).join() === commandsOf(line).join()) === i,
);
if (!values.again) rmSync(home, { recursive: true, force: true });
mkdirSync(home, { recursive: true });
installGq(programs);
const started = performance.now();
const variables = {
  ...process.env,
  PATH: [programs, process.env['PATH']].join(delimiter),
  GQ_NAME: 'gq',
  GQ_CORES: '1',
  CUDA_VISIBLE_DEVICES: '',
  HF_HUB_CACHE: join(home, 'hub'),
};
const first = new Shell(variables);
// The list of lines that held is begun when the world is whole.
if (!existsSync(heldFile)) {
  rmSync(world, { recursive: true, force: true });
  await makeWorld(world, first);
  writeFileSync(heldFile, '');
}
await using hub = await HubServer.start(readFolder(join(world, 'DIR')), null);
const shell = new Shell({ ...variables, HF_ENDPOINT: hub.endpoint });
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    shell.end();
    process.stdout.write('interrupted: `npm run check:printed -- --again` goes on\n');
    process.exit(130);
  });
}
const tried = new Set(once.flatMap(({ line }) => commandsOf(line)));
const held = new Set(chosen.length === 0 ? readFileSync(heldFile, 'utf8').split('\n') : []);
const counts = { typed: 0, held: 0, elsewhere: 0 };
const faults: string[] = [];
const left = once.filter(({ path, line }) => {
  const other = elsewhere[path] ?? treatmentOf(filled(commandsOf(line)[0]))?.elsewhere;
  const kind = other !== undefined ? 'elsewhere' : held.has(line) ? 'held' : 'typed';
  counts[kind]++;
  return kind === 'typed';
});
/** The folders of lines are in memory where there is some: copying them is most of the work of a disk. */
const places = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : home, 'gq-printed-'));
// As in a project with the package: examples import it.
mkdirSync(join(places, 'node_modules'));
symlinkSync(root, join(places, 'node_modules/gradient-quarantine'));
process.on('exit', () => rmSync(places, { recursive: true, force: true }));
async function work(): Promise<void> {
  for (let printed = left.shift(); printed !== undefined; printed = left.shift()) {
    const before = performance.now();
    const place = join(places, `line-${left.length}`);
    const found = await tryLine(shell, place, printed, tried);
    faults.push(...found);
    if (found.length === 0) appendFileSync(heldFile, `${printed.line}\n`);
    // A job of a queue may outlive its line, and writes into the folder of that line alone.
    if (!printed.line.includes('queue')) rmSync(place, { recursive: true, force: true });
    const seconds = ((performance.now() - before) / 1000).toFixed(1).padStart(6);
    process.stdout.write(
      `${[`${found.length === 0 ? 'ok ' : 'BAD'} ${seconds} s  ${printed.line}`, ...found].join('\n')}\n`,
    );
  }
}
await Promise.all(Array.from({ length: Number(values.jobs) }, work));
if (faults.length === 0 && chosen.length === 0) rmSync(home, { recursive: true, force: true });
const minutes = ((performance.now() - started) / 60_000).toFixed(1);
process.stdout.write(
  `${once.length} printed lines: ${counts.typed} typed, ${counts.held} held before, ${counts.elsewhere} by other tests; ${faults.length} wrong; ${minutes} minutes\n`,
);
process.exitCode = faults.length === 0 ? 0 : 1;
