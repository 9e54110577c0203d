/** `gq monitors bench`: a monitor on labelled transcripts of any program. */

import { resolve } from 'node:path';
import { UserError } from '../../base/index.ts';
import { expectShape } from '../../base/parts/index.ts';
import { loadParts } from '../../lab/plugins.ts';
import { benchMonitor } from '../../monitors/bench.ts';
import { readTranscripts } from '../../monitors/transcripts.ts';
import { parseSetting } from '../../run/index.ts';
import { argument, command, needed, repeated, whole, word } from '../command.ts';

export const benchCommand = command({
  arguments: {
    file: argument(
      '<file>',
      'JSON lines of {completion, prompt?, id?, label}, may be .gz; or a log of Inspect, .eval or .json',
    ),
  },
  options: {
    monitor: needed(word('<kind>', 'a monitor that reads texts: regex, judge, chance, or one of a plugin')),
    set: repeated('<key=value>', 'change one key of the monitor'),
    plugin: repeated('<file>', 'a module with monitors of your own'),
    label: word('<name>', 'the field of a line, or the score of a sample, that says which is a positive', 'label'),
    seed: whole('<n>', 'seed of a monitor that draws', { least: 0, usual: 1 }),
  },
  json: 'AUROC, interval and counts as JSON',
  examples: [
    'gq monitors bench transcripts.jsonl --monitor regex --set "pattern=exit\\(0\\)"',
    'gq monitors bench logs/run.eval --label hack --monitor chance',
  ],
  async run({ file, monitor: kind, set, plugin, label, seed }, { stderr }) {
    const { monitors } = await loadParts(plugin.map((path) => resolve(path)));
    const definition = monitors.find((each) => each.kind === kind);
    if (definition === undefined) {
      const expected = monitors.map((each) => each.kind).join(', ');
      throw new UserError({ call: '--monitor', expected, found: kind });
    }
    const settings: unknown = Object.assign({}, ...set.map((each) => parseSetting(each, '--set')));
    expectShape(`--set of monitor ${kind}`, definition.settings, settings);
    const tell = async (message: string): Promise<void> => void stderr.write(`gq: ${message}\n`);
    const value = await benchMonitor(
      definition,
      definition.settings.parse(settings),
      await readTranscripts(file, label),
      { seed, tell },
    );
    const { estimate, low, high, positives, negatives } = value.auroc;
    const area = `AUROC ${estimate.toFixed(3)}, 95% from ${low.toFixed(3)} to ${high.toFixed(3)}`;
    const counts = `${positives} positives, ${negatives} negatives, ${value.abstained} without a score`;
    return { value: { file, label, ...value }, text: () => `${kind}: ${area} (${counts})\n` };
  },
});
