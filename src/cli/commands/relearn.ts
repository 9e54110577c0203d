/** `gq relearn RUN`: compares vanilla training on a run's deployed model with the same training on the base. */
import { join } from 'node:path';
import type { Command } from 'commander';
import { exitCodes, shellLine, UserError } from '../../base/index.ts';
import { expectWritable } from '../../base/node/index.ts';
import { onInterrupt, parseRunConfig, train } from '../../lab/index.ts';
import {
  attackConfig,
  describeRelearning,
  emergence,
  expectFinished,
  exportDeployed,
  finalWindow,
  openAttacked,
  type Relearning,
  reportRelearning,
  type TrainingPoint,
  trainingCurve,
} from '../../measure/index.ts';
import { openJudged, VerdictTail } from '../../oracle/index.ts';
import { renderTable } from '../../report/index.ts';
import type { RunConfig, Sink } from '../../run/index.ts';
import { configDifferences, demonstrationTest, isOfOneUpdate, noticeText, RunDirectory } from '../../run/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { LivePicture } from '../terminal/live-picture.ts';
import { screenWidth } from '../terminal/screen.ts';
import { parseWholeNumber } from '../values.ts';

interface RelearnOptions {
  readonly vanilla?: string;
  readonly updates?: string;
  readonly out?: string;
  readonly json?: true;
}

export function configureRelearn(command: Command, context: CommandContext): void {
  command
    .argument('<run>', 'a finished run of an arm with a quarantine')
    .option('--vanilla <run>', 'a vanilla run of the same seed and settings; trained here when absent')
    .option('--updates <n>', 'updates of the attack; as many as the run had when absent')
    .option('--out <dir>', 'folder for the deployed model and the runs; RUN/relearn when absent')
    .option('--json', 'print the report as JSON')
    .addHelpText(
      'after',
      examplesText(
        'gq relearn runs/activation-1',
        'gq relearn runs/activation-1 --vanilla runs/vanilla-1 --updates 60',
      ),
    )
    .action((path: string, options: RelearnOptions) => runRelearn(path, options, context));
}

async function runRelearn(path: string, options: RelearnOptions, context: CommandContext): Promise<void> {
  const call = `gq relearn ${path}`;
  const run = openAttacked(path, call);
  const out = options.out ?? join(path, 'relearn');
  expectWritable(`--out ${out}`, out);
  const updates = options.updates === undefined ? null : parseWholeNumber(options.updates, '--updates', 1);
  const plain = attackConfig(run.readManifest().config, updates);
  const given = options.vanilla === undefined ? null : openVanilla(options.vanilla, plain);
  const deployed = await exportDeployed(run, join(out, 'deployed'), call);
  const attack = await trainVanilla(
    { ...plain, model: deployed },
    join(out, 'attack'),
    'from the deployed model',
    context,
  );
  const vanilla =
    attack === null || given !== null
      ? null
      : await trainVanilla(plain, join(out, 'vanilla'), 'from the base', context);
  const base = given === null ? vanilla : trainingCurve(await openJudged(given).rows(), 'full');
  if (attack === null || base === null) {
    context.stdout.write(`interrupted; saved in ${out}; go on with: ${againCommand(path, options)}\n`);
    context.exitCode = exitCodes.interrupted;
    return;
  }
  const report = reportRelearning(base, attack);
  if (report === null) {
    context.stdout.write('Vanilla ends without any hack: there is nothing to relearn.\n');
    context.exitCode = 1;
  } else if (options.json) context.stdout.write(`${JSON.stringify({ run: path, ...report }, null, 2)}\n`);
  else {
    const rows = [report.fromBase, report.fromDeployed].map(relearningRow);
    const columns = [
      'start',
      'updates to half of vanilla',
      `hack, first ${emergence.window} updates`,
      `hack, last ${finalWindow}`,
      'updates',
    ];
    const title = `relearning the hack: vanilla training to ${report.target.toFixed(2)}, half of ${report.vanillaRate.toFixed(2)}`;
    context.stdout.write(
      `${renderTable({ title, columns, rows }, 'text', screenWidth(context.stdout))}${describeRelearning(report)}\n`,
    );
  }
}

/** The command that continues this one: with all its options, since others would begin anew. */
function againCommand(path: string, { vanilla, updates, out, json }: RelearnOptions): string {
  const given = Object.entries({ vanilla, updates, out }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  return shellLine('gq', 'relearn', path, ...given, ...(json ? ['--json'] : []));
}

function relearningRow({ start, reached, firstRate, finalRate, updates }: Relearning): string[] {
  const rate = (value: number | null): string => (value === null ? '-' : value.toFixed(2));
  return [start, reached === null ? `not in ${updates}` : `${reached}`, rate(firstRate), rate(finalRate), `${updates}`];
}

/** Trains vanilla and returns its training curve; null if it was interrupted. */
async function trainVanilla(
  config: RunConfig,
  path: string,
  name: string,
  { stderr }: CommandContext,
): Promise<TrainingPoint[] | null> {
  const picture = new LivePicture(stderr);
  picture.begin(path, [{ name, updates: config.updates }]);
  const tail = new VerdictTail(join(path, 'verdicts.jsonl'), demonstrationTest(config));
  const sink: Sink = {
    name: 'picture',
    event: (event) => {
      if (event.kind === 'step') picture.step(0, event.update, tail.read(), null);
      const text = isOfOneUpdate(event) ? null : noticeText(event);
      if (text !== null) picture.say(text);
    },
  };
  using interruption = onInterrupt({ write: (text) => picture.say(text.trim()) }, 'finishing this update, then saving');
  const { end } = await train(await parseRunConfig(config), path, { sinks: [sink], signal: interruption.signal });
  return end === 'interrupted' ? null : trainingCurve(await openJudged(RunDirectory.open(path)).rows(), 'full');
}

/** Opens a vanilla run that the attack can be compared with; all that matters must be the same. */
function openVanilla(path: string, wanted: RunConfig): RunDirectory {
  const run = RunDirectory.open(path);
  expectFinished(run, `--vanilla ${path}`);
  const { config } = run.readManifest();
  const compared = ['seed', 'model', 'data', 'environment', 'sampling', 'optimiser', 'adapter', 'arm'];
  const differences = configDifferences(wanted, config).filter((text) => compared.includes(text.split(/[. ]/)[0]));
  if (differences.length > 0) {
    throw new UserError({
      call: `--vanilla ${path}`,
      expected: 'a vanilla run with the settings of the run that is attacked',
      found: `other values: ${differences.join(', ')}`,
    });
  }
  return run;
}
