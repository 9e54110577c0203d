/** `gq measure relearn RUN`: compares vanilla training on a run's deployed model with the same training on the base. */
import { join } from 'node:path';
import { exitCodes } from '../../base/index.ts';
import { expectWritable } from '../../base/node/index.ts';
import { onInterrupt, parseRunConfig, train } from '../../lab/index.ts';
import type { Relearning, RelearningReport, TrainingPoint } from '../../measure/index.ts';
import { describeRelearning, emergence, finalWindow, reportRelearning, trainingCurve } from '../../measure/index.ts';
import { attackConfig, exportDeployed, openAttacked, openVanilla } from '../../measure/relearn/attack.ts';
import { openJudged, VerdictTail } from '../../oracle/index.ts';
import { renderTable } from '../../report/index.ts';
import type { RunConfig, Sink } from '../../run/index.ts';
import { demonstrationTest, isOfOneUpdate, noticeText, RunDirectory } from '../../run/index.ts';
import { argument, type CommandContext, command, whole, word } from '../command.ts';
import { endInterrupted } from '../shared.ts';
import { LivePicture } from '../terminal/live-picture.ts';

export const relearnCommand = command({
  arguments: { run: argument('<run>', 'a finished run of an arm with a quarantine') },
  options: {
    vanilla: word('<run>', 'a vanilla run of the same seed and settings; trained here when absent'),
    updates: whole('<n>', 'updates of the attack; as many as the run had when absent'),
    out: word('<dir>', 'folder for the deployed model and the runs; RUN/relearn when absent'),
  },
  json: 'the report as JSON',
  examples: [
    'gq measure relearn runs/activation-1',
    'gq measure relearn runs/activation-1 --vanilla runs/vanilla-1 --updates 60',
  ],
  exits: {
    1: 'vanilla ends without any hack: there is nothing to relearn',
    75: 'interrupted: the runs are saved, and the same call goes on',
  },
  async run({ run: path, vanilla: vanillaPath, updates = null, out = join(path, 'relearn') }, context) {
    const call = `gq measure relearn ${path}`;
    const run = openAttacked(path, call);
    expectWritable(`--out ${out}`, out);
    const plain = attackConfig(run.readManifest().config, updates);
    const given = vanillaPath === undefined ? null : openVanilla(vanillaPath, plain);
    const model = await exportDeployed(run, join(out, 'deployed'), call);
    const trainIn = (folder: string, config: RunConfig, name: string) =>
      trainVanilla(config, join(out, folder), name, context);
    const attack = await trainIn('attack', { ...plain, model }, 'from the deployed model');
    if (attack === null) return endInterrupted(`saved in ${out}`, context);
    const base =
      given === null
        ? await trainIn('vanilla', plain, 'from the base')
        : trainingCurve(await (await openJudged(given)).rows(), 'full');
    if (base === null) return endInterrupted(`saved in ${out}`, context);
    const report = reportRelearning(base, attack);
    if (report !== null) return { value: { run: path, ...report }, text: (width) => renderReport(report, width) };
    context.stdout.write('Vanilla ends without any hack: there is nothing to relearn.\n');
    context.exitCode = exitCodes.failed;
    return undefined;
  },
});

function renderReport(report: RelearningReport, width: number): string {
  const rows = [report.fromBase, report.fromDeployed].map(relearningRow);
  const spans = [`first ${emergence.window} updates`, `last ${finalWindow}`];
  const rates = ['attempt', 'hack'].flatMap((what) => spans.map((span) => `${what}, ${span}`));
  const columns = ['start', 'updates to attempts', 'to hacks', ...rates, 'updates'];
  const [attempts, hacks] = [report.goals.attempts, report.goals.hacks].map((rate) => rate.toFixed(2));
  const title = `relearning the exploit: vanilla training until attempts are at ${attempts} and hacks at ${hacks}, half of vanilla's last`;
  return `${renderTable({ title, columns, rows }, 'text', width)}${describeRelearning(report)}\n`;
}

function relearningRow({ start, updates, attempts, hacks }: Relearning): string[] {
  const both = [attempts, hacks];
  const shown = both.flatMap(({ first, last }) => [first, last].map((rate) => rate?.toFixed(2) ?? '-'));
  const after = both.map(({ reached }) => (reached === null ? `not in ${updates}` : `${reached}`));
  return [start, ...after, ...shown, `${updates}`];
}

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
  return end === 'interrupted' ? null : trainingCurve(await (await openJudged(RunDirectory.open(path))).rows(), 'full');
}
