/** `gq measure NAME RUN`: the command of each measurement, and of the labels that people gave. */
import { z } from 'zod';
import { visibleLine } from '../../base/index.ts';
import { gqLine } from '../../base/node/own-program.ts';
import type { Measurement } from '../../measure/registry/index.ts';
import { renderTable } from '../../report/index.ts';
import { RunDirectory } from '../../run/index.ts';
import { agreementsOf, agreementTable, importLabels, labelsPage, lastLabels, ViewLibrary } from '../../view/index.ts';
import { argument, type CommandValue, command, type Part, repeated, whole, word } from '../command.ts';
import { tellOn } from '../terminal/progress.ts';

export function measureCommand(measurement: Measurement): CommandValue {
  const { run: about, answer, options: schema, examples, exits, measure, json: answerOf, isNo, show } = measurement;
  const options = Object.entries(schema.shape).map(([name, key]) => [name, partOf(key as z.ZodType)]);
  return command({
    arguments: { run: argument('<run>', about) },
    options: Object.fromEntries(options) as Record<string, Part<unknown>>,
    json: `${answer} as JSON`,
    examples,
    exits,
    async run({ run: path, json: _json, ...wishes }, context) {
      const run = RunDirectory.open(path);
      const result = await measure(run, schema.parse(wishes), tellOn(context));
      const text = (width: number): string => {
        const blocks = show(result, run, width).map((block) =>
          typeof block === 'string' ? block : renderTable(block, 'text', width).trimEnd(),
        );
        return `${blocks.join('\n\n')}\n`;
      };
      return { value: { run: path, ...(answerOf?.(result) ?? result) }, text, isNo: isNo?.(result) };
    },
  });
}

function partOf(key: z.ZodType): Part<unknown> {
  const { description = '', takes = '<n>' } = z.globalRegistry.get(key) ?? {};
  const inner = key instanceof z.ZodDefault || key instanceof z.ZodOptional ? key.unwrap() : key;
  const usual: unknown = key.safeParse(undefined).data;
  if (inner instanceof z.ZodArray) return repeated(String(takes), description);
  if (inner instanceof z.ZodNumber) {
    return whole('<n>', description, { least: inner.minValue ?? 0, usual: usual as number | undefined });
  }
  return word(String(takes), description, usual as string | undefined);
}

export const labelsCommand = command({
  arguments: { dir: argument('<dir>', 'a run, an experiment, or a folder of them') },
  options: {
    import: word(
      '<file>',
      'first add the labels of a file of JSON lines: run, rollout, label (hack, clean, unsure), writer',
    ),
  },
  json: 'labels and agreement as JSON',
  examples: [
    'gq measure labels runs/activation-1 --import labels.jsonl',
    'gq measure labels runs/micro-claim',
    'gq measure labels runs/activation-1 --json',
  ],
  exits: { 1: 'nobody has labelled a rollout' },
  async run({ dir, json, import: file }, { stderr }) {
    const library = new ViewLibrary(dir);
    if (file !== undefined) stderr.write(`${await importLabels(library, file)} labels added\n`);
    const runs = library.entries().filter(({ experiment }) => experiment === null);
    const pages = [];
    for (const entry of runs) pages.push(await labelsPage(library, entry));
    const labels = pages.flatMap((page) => page.labels);
    const leftOut = pages.flatMap((page) => page.leftOut ?? []);
    const agreements = agreementsOf(labels);
    const text = (width: number): string => {
      const missing = leftOut.map(({ run, why }) => `${visibleLine(`left out: ${run}: ${why}`)}\n`).join('');
      const none = `no labels yet: ${gqLine('view')}, then “label” of a run or an experiment\n`;
      if (agreements.length === 0) return missing || none;
      return renderTable(agreementTable(agreements), 'text', width) + missing;
    };
    const value = { agreements, labels: lastLabels(labels), leftOut };
    return { value, text, isNo: agreements.length === 0 && !json };
  },
});
