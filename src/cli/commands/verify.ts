/** `gq verify`, `gq smoke` and `gq doctor`: a line for each check, or for each part of the machine. */
import { existsSync } from 'node:fs';
import { UserError, wrapText } from '../../base/index.ts';
import { checkProblems, loadProblems, SandboxJudge, writeFiltered } from '../../env/index.ts';
import { findDevice, resolveConfig } from '../../lab/index.ts';
import { renderTable } from '../../report/index.ts';
import { type RunConfig, RunDirectory } from '../../run/index.ts';
import {
  type Check,
  type Finding,
  inspectMachine,
  isHealthy,
  reportAdapters,
  reportArm,
  reportMarkers,
  reportParity,
  reportPartition,
  reportRewards,
  reportScience,
  smokeParts,
  type VerifyReport,
} from '../../verify/index.ts';
import { argument, type CommandResult, command, flag, whole, word } from '../command.ts';
import { sandboxOptions, startSandbox } from '../sandbox.ts';
import { configOption, deviceOption, expectNewFile, isSameFile, sameCall } from '../shared.ts';
import { Progress } from '../terminal/progress.ts';
import { renderChecks, screenWidth } from '../terminal/screen.ts';
import { TrainDisplay } from '../terminal/train-display.ts';

/** JSON has no infinity, so an infinite difference is written as the string "Infinity". */
function checkValue({ maxAbs, maxRel, ...check }: Check): object {
  const finite = (value: number): number | string => (Number.isFinite(value) ? value : String(value));
  return { ...check, maxAbs: finite(maxAbs), maxRel: finite(maxRel) };
}

const hasFailed = (checks: readonly Check[]): boolean => checks.some(({ pass }) => !pass);

function besideText({ table, before = [] }: VerifyReport, width: number): string {
  if (table !== undefined) return `${renderTable(table, 'text', width)}\n`;
  return before.map((line) => `${wrapText(line, width)}\n`).join('');
}

function resultOf(report: VerifyReport): CommandResult {
  const { title, checks, after = [], facts } = report;
  const text = (width: number): string => {
    const notes = after.map((line) => `${wrapText(line, width)}\n`);
    return [besideText(report, width), renderChecks(checks, title, width), ...notes].join('');
  };
  return { value: { ...facts, checks: checks.map(checkValue) }, text, isNo: hasFailed(checks) };
}

const exits = { 1: 'a check fails' };
const comparison = {
  json: '{checks: [{case, quantity, maxAbs, maxRel, bound, pass}]}',
  options: { device: deviceOption },
  exits,
};

export const parityCommand = command({
  ...comparison,
  arguments: { dir: argument('<dir>', 'a folder laid out like test/golden') },
  examples: ['gq verify parity test/golden', 'gq verify parity test/golden --device reference --json'],
  run: async ({ dir, device }) => resultOf(await reportParity(device, dir)),
});

export const adaptersCommand = command({
  ...comparison,
  examples: ['gq verify adapters'],
  run: async ({ device }) => resultOf(await reportAdapters(device)),
});

export const armCommand = command({
  arguments: { recipe: word('[recipe]', 'a TOML recipe, with plugins or without; without one, the defaults') },
  options: { set: configOption, updates: whole('<n>', 'updates of each of the two runs', { usual: 5 }) },
  json: '{checks, usesLabels, sources, trained, pinned, flagged}',
  examples: ['gq verify arm micro-activation', 'gq verify arm my-gate.toml --updates 2 --json'],
  exits: { 1: 'labels reach training, or nothing was flagged or routed, so that nothing is shown' },
  async run({ recipe = null, set, updates }, { stderr }) {
    const { config } = await resolveConfig(recipe, set);
    const shown = {
      told: Progress.from(stderr, 'run 1 of 2, with verdicts as they are: update'),
      lied: Progress.from(stderr, 'run 2 of 2, with every verdict flipped: update'),
    };
    return resultOf(await reportArm(config, { updates, onUpdate: (run, done, of) => shown[run](done, of) }));
  },
});

const environmentCommand = (name: string, reportOf: (config: RunConfig) => Promise<VerifyReport>) =>
  command({
    arguments: { recipe: word('[recipe]', 'recipe whose environment to check; without one, the defaults') },
    options: { set: configOption },
    json: '{checks}',
    examples: [`gq verify ${name}`, `gq verify ${name} micro-base --json`],
    exits,
    run: async ({ recipe = null, set }) => resultOf(await reportOf((await resolveConfig(recipe, set)).config)),
  });

export const rewardsCommand = environmentCommand('rewards', reportRewards);
export const markersCommand = environmentCommand('markers', reportMarkers);
export const partitionCommand = environmentCommand('partition', reportPartition);

export const scienceCommand = command({
  arguments: { run: word('[run]', 'a run directory; without one, the defaults') },
  json: '{checks}',
  examples: ['gq verify science', 'gq verify science runs/activation-1'],
  exits,
  async run({ run: path }) {
    const subject = path === undefined ? (await resolveConfig(null)).config : RunDirectory.open(path);
    return resultOf(await reportScience(subject));
  },
});

export const problemsCommand = command({
  arguments: {
    file: argument(
      '<file>',
      'problems in the format of the benchmark or of LeetCodeDataset, .jsonl, .jsonl.gz or .parquet',
    ),
  },
  options: {
    write: word('<file>', 'file to write the sound problems to, with a manifest of what was dropped and why'),
    force: flag('overwrite the file of --write'),
    ...sandboxOptions,
  },
  json: 'the result as JSON',
  examples: ['gq verify problems problems.jsonl.gz', 'gq verify problems problems.jsonl --write sound.jsonl'],
  exits: { 1: 'a problem is unsound' },
  async run({ file, write: target, force, ...sandboxed }, { stderr }) {
    if (target !== undefined) expectTarget(file, target, force);
    const loaded = await loadProblems(file);
    await using sandbox = await startSandbox(sandboxed);
    const progress = new Progress(stderr, 'checked', loaded.loaded.length);
    const result = await checkProblems(loaded, new SandboxJudge(sandbox), (done) => progress.show(done));
    const manifest = target === undefined ? undefined : await writeFiltered(file, target, loaded, result);
    const { sound, unsound } = result;
    const problems = sound.length + unsound.length;
    const budgets = sound.map(({ id, cpuSeconds }) => ({ id, cpuSeconds }));
    const isolation = sandbox.report.level;
    const text = (): string => {
      const lines = unsound.map(({ id, line, reason }) => `unsound  ${id} (line ${line}): ${reason}\n`);
      const written = manifest === undefined ? '' : `Wrote ${target} and ${manifest}\n`;
      return `${lines.join('')}${sound.length} of ${problems} problems are sound.\n${written}`;
    };
    return { value: { file, problems, sound: budgets, unsound, isolation }, text, isNo: unsound.length > 0 };
  },
});

/** The input itself is never a target: the problems that are dropped may be in no other file. */
function expectTarget(source: string, target: string, force: boolean): void {
  const refuse = (expected: string, found: string): never => {
    throw new UserError({ call: `--write ${target}`, expected, found });
  };
  if (isSameFile(source, target)) refuse('another file than the one that is read', 'the same');
  if (/\.parquet$/i.test(target)) refuse('a .jsonl or .jsonl.gz file', '.parquet');
  expectNewFile(target, '--write', force);
  expectNewFile(`${target}.manifest.json`, '--write', force);
}

export const smokeCommand = command({
  options: {
    device: deviceOption,
    golden: word(
      '<dir>',
      'stored values for the parity check; those of the repository, where there are any, when absent',
    ),
    verbose: flag('print every check, not only those that fail'),
  },
  json: '{parts: [{name, seconds, checks}]}',
  examples: ['gq smoke', 'gq smoke --device reference', 'gq smoke --golden test/golden --json'],
  exits,
  async run({ device, golden, verbose, json }, context) {
    // A wrong device or folder is refused before the first part runs.
    findDevice(device);
    if (golden !== undefined && !existsSync(golden)) {
      const expected = 'a folder of stored values';
      throw new UserError({ call: `--golden ${golden}`, expected, found: 'no such folder' });
    }
    const width = screenWidth(context.stdout);
    const parts: SmokePart[] = [];
    let table = '';
    const stdout = { write: (text: string) => (table += text) };
    const checks = smokeParts(device, golden, (run) => {
      return new TrainDisplay({ stdout, stderr: context.stderr }, { ...run, again: sameCall(context) });
    });
    for (const [name, reportOf] of Object.entries(checks)) {
      const began = performance.now();
      const report = await reportOf();
      const part = { name, seconds: (performance.now() - began) / 1000, checks: report.checks };
      parts.push(part);
      const beside = name === 'run' ? table : besideText(report, width);
      if (!json) context.stdout.write(partText(part, beside, verbose, width));
    }
    const failed = parts.filter((part) => hasFailed(part.checks)).map(({ name }) => name);
    const seconds = parts.reduce((sum, part) => sum + part.seconds, 0).toFixed(0);
    const end = failed.length === 0 ? `smoke: all ${parts.length} parts hold` : `SMOKE FAILED: ${failed.join(', ')}`;
    const value = { parts: parts.map((part) => ({ ...part, checks: part.checks.map(checkValue) })) };
    return { value, text: () => `${end} (${seconds} s)\n`, isNo: failed.length > 0 };
  },
});

type SmokePart = Pick<VerifyReport, 'checks'> & { readonly name: string; readonly seconds: number };

function partText({ name, seconds, checks }: SmokePart, beside: string, verbose: boolean, width: number): string {
  const failed = checks.filter(({ pass }) => !pass);
  const shown = verbose ? checks : failed;
  const isLeftOut = checks.length === 0;
  const first = isLeftOut ? beside.trim() : `${checks.length - failed.length} of ${checks.length} checks pass`;
  const verdict = isLeftOut ? 'left out' : failed.length === 0 ? 'holds' : 'FAILS';
  const line = `${name.padEnd(10)} ${verdict.padEnd(9)} ${first} (${seconds.toFixed(1)} s)`;
  const notes = verbose && !isLeftOut ? beside : '';
  return `${wrapText(line, width)}\n${notes}${shown.length === 0 ? '' : renderChecks(shown, name, width)}`;
}

export function renderFindings(findings: readonly Finding[]): string {
  const nameWidth = Math.max(...findings.map(({ name }) => name.length));
  const lines = findings.flatMap(({ name, status, required, detail, todo, notes = [] }) => {
    const state = status === 'missing' && !required ? 'missing (optional)' : status;
    const line = `${name.padEnd(nameWidth)}  ${state.padEnd('missing (optional)'.length)}  ${detail}`;
    const more = [...notes.map((note) => `· ${note}`), ...(todo === undefined ? [] : [`→ ${todo}`])];
    return [line, ...more.map((text) => `${' '.repeat(nameWidth)}  ${text}`)];
  });
  const verdict = isHealthy(findings)
    ? `Everything required is here.${optionalText(findings)}`
    : 'Something required is missing: see above.';
  return `${[...lines, verdict].join('\n')}\n`;
}

/** The optional parts of a machine are devices, beside wasm. */
function optionalText(findings: readonly Finding[]): string {
  const namesOf = (wanted: Finding['status']): string[] =>
    findings.flatMap(({ name, status, required }) => (!required && status === wanted ? [name] : []));
  const missing = namesOf('missing');
  if (missing.length === 0) return '';
  const usable = ['wasm (on the processor, models that fit into 4 GiB)', ...namesOf('found')].join(' or ');
  return ` Optional and not here: ${missing.join(', ')}; device.kind can be ${usable}, not ${missing.join(' or ')}.`;
}

export const doctorCommand = command({
  json: 'the findings as JSON',
  examples: ['gq doctor', 'gq doctor --json'],
  exits: { 1: 'something required is missing' },
  async run() {
    const findings = await inspectMachine();
    const healthy = isHealthy(findings);
    return { value: { healthy, findings }, text: () => renderFindings(findings), isNo: !healthy };
  },
});
