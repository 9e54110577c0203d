/**
 * `gq runs [DIR]`: lists the runs of a folder, how far each is, when it last wrote something, and what is wrong with it. Every file of
 * every run is compared with its seal or checksum; exit 1 if one is damaged.
 */
import { visibleLine, wrapText } from '../../base/index.ts';
import { findDamage } from '../../evaluate/index.ts';
import { RunDirectory } from '../../run/index.ts';
import {
  type Catalogue,
  type FoundEntry,
  findEntries,
  type ListedRun,
  listCatalogue,
  listRun,
} from '../../view/index.ts';
import { command, flag, word } from '../command.ts';
import { jsonOption } from '../options.ts';
import { printAnswer } from '../outputs.ts';
import { Progress } from '../terminal/progress.ts';
import { formatDuration } from '../terminal/step-table.ts';
import { alignRows } from '../terminal/tables.ts';

export const runsCommand = command({
  arguments: { dir: word('[dir]', 'a folder of runs, an experiment, or a run', 'runs') },
  options: {
    json: jsonOption('the list'),
    quick: flag('do not read the files of the runs: no seal and no checksum is looked at'),
  },
  examples: ['gq runs', 'gq runs runs/micro-claim --json', 'gq runs --quick'],
  exits: { 1: 'a run is damaged' },
  run({ dir, json, quick }, context) {
    const entries = findEntries(dir);
    const progress = new Progress(context.stderr, 'runs checked', entries.length);
    let checked = 0;
    const check = (entry: FoundEntry): ListedRun => {
      const run = checkedRun(entry);
      progress.show(++checked);
      return run;
    };
    const listed = listCatalogue(dir, entries, quick ? listRun : check);
    const runs = listed.runs.map((run) => ({ ...run, attempt: run.curve.at(-1)?.attempt ?? null }));
    if (runs.some(({ status }) => status === 'damaged')) context.exitCode = 1;
    printAnswer(context, json, { ...listed, runs }, (width) => renderRuns(listed.experiments, runs, width));
  },
});

/** A run with a file that is not as it was written is damaged, whatever its other files say. */
function checkedRun(entry: FoundEntry): ListedRun {
  const run = listRun(entry);
  if (run.status === 'damaged' || run.status === 'not started') return run;
  const [first, ...others] = findDamage(RunDirectory.open(entry.path));
  if (first === undefined) return run;
  const more = others.length === 0 ? '' : ` Also damaged: ${others.map(({ file }) => file).join(', ')}.`;
  return { ...run, status: 'damaged', notice: `${first.problem}${more}` };
}

function renderRuns(experiments: Catalogue['experiments'], runs: readonly ListedRun[], width: number): string {
  if (runs.length === 0) return 'no runs here\n';
  const head = ['run', 'arm', 'status', 'update', 'attempt', 'hack', 'solve', 'last write'];
  const lines = alignRows([head, ...runs.map(rowOf)], width);
  const table = runs.flatMap((run, i) => {
    const experiment = experiments.find(({ id }) => id === run.experiment);
    const isFirst = experiment !== undefined && runs[i - 1]?.experiment !== run.experiment;
    return [...(isFirst ? wrapText(headingOf(experiment, runs), width).split('\n') : []), lines[i + 1]];
  });
  const notices = runs.flatMap(({ id, notice }) =>
    notice === '' ? [] : wrapText(visibleLine(`${id}: ${notice}`), width).split('\n'),
  );
  const note = runs.some(({ curve }) => curve.length > 0)
    ? 'attempt, hack and solve: deployed, at the last point of the curve'
    : 'attempt, hack and solve: no run has a curve (gq eval RUN --curve); gq results DIR has what was evaluated';
  return `${[lines[0], ...table, ...notices, ...wrapText(note, width).split('\n')].join('\n')}\n`;
}

/** The experiment's folder, how many of its runs are over, and its question. */
function headingOf({ id, why }: Catalogue['experiments'][number], runs: readonly ListedRun[]): string {
  const own = runs.filter(({ experiment }) => experiment === id);
  const over = own.filter(({ status }) => status === 'finished').length;
  return visibleLine(`${id}: ${over} of ${own.length} runs finished${why === '' ? '' : `. ${why}`}`);
}

/** A file that was written later than it is now tells of a clock that went back, or of another machine's. */
function sinceText(seconds: number): string {
  return seconds < -1 ? 'ahead of this clock' : `${formatDuration(seconds)} ago`;
}

/** A run of an experiment stands below its heading, so its own name is enough. */
function rowOf(run: ListedRun): string[] {
  const last = run.curve.at(-1);
  const rate = (value: number | null | undefined): string => value?.toFixed(2) ?? '-';
  const since = run.heartbeat === null ? '-' : sinceText((Date.now() - run.heartbeat) / 1000);
  const name = run.experiment === null ? run.id : `  ${run.id.slice(run.experiment.length + 1)}`;
  const rates = [last?.attempt, last?.hack, last?.solve].map(rate);
  return [name, run.arm, run.status, `${run.update}/${run.updates}`, ...rates, since];
}
