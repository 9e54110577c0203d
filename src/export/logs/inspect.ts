/**
 * Logs for Inspect's viewer (`.eval`, version 2): one log for each stored evaluation, and one for the rollouts of an update. A sample has the prompt, the
 * completion and the scores attempt, hack and solve; rollouts of a group are the epochs of a sample, with route, score and advantage as metadata.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import { groupBy, UserError } from '../../base/index.ts';
import { makeFolder, readVersion, sha256, writeFileAtomic } from '../../base/node/index.ts';
import { EvaluationStore } from '../../evaluate/index.ts';
import { openJudged } from '../../oracle/index.ts';
import type { RunDirectory } from '../../run/index.ts';
import type { LogHead } from './points.ts';

const scoreNames = ['attempt', 'hack', 'solve'] as const;

interface InspectSample {
  readonly id: string;
  readonly epoch: number;
  readonly prompt: string;
  readonly completion: string;
  readonly truncated: boolean;
  readonly scores: Readonly<Record<(typeof scoreNames)[number], boolean>>;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface InspectLog {
  readonly task: string;
  readonly model: string;
  readonly update: number;
  readonly samples: readonly InspectSample[];
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** Names of files in the archive; the viewer finds a sample by its id, so the id itself must be fit for a name. */
const sampleId = (text: string): string => text.replace(/[^\w.-]+/g, '_').slice(0, 80);

function specOf(head: LogHead, { task, model, update, samples }: InspectLog, created: string) {
  const ids = [...new Set(samples.map(({ id }) => id))];
  const key = sha256(`${head.id} ${task} ${model} ${update}`);
  return {
    eval_id: key.slice(0, 22),
    run_id: head.id,
    created,
    task: `${head.name}/${task}`,
    task_id: key.slice(22, 44),
    task_version: 0,
    task_attribs: {},
    task_args: {},
    task_args_passed: {},
    dataset: { name: task, samples: ids.length, sample_ids: ids, shuffled: false },
    model: `gradient-quarantine/${model}`,
    model_generate_config: {},
    model_args: {},
    config: { epochs: Math.max(1, ...samples.map(({ epoch }) => epoch)) },
    packages: { 'gradient-quarantine': readVersion() },
    metadata: { run: head.name, update, state: model, arm: head.group },
  };
}

function sampleOf(log: InspectLog, { id, epoch, prompt, completion, truncated, scores, metadata }: InspectSample) {
  const model = `gradient-quarantine/${log.model}`;
  const asked = { role: 'user', content: prompt };
  const answer = { role: 'assistant', content: completion, source: 'generate', model };
  const score = (value: boolean) => ({ value: value ? 1 : 0, answer: completion, history: [] });
  return {
    id,
    epoch,
    input: [asked],
    target: '',
    messages: [asked, answer],
    output: { model, choices: [{ message: answer, stop_reason: truncated ? 'max_tokens' : 'stop' }], completion },
    scores: Object.fromEntries(scoreNames.map((name) => [name, score(scores[name])])),
    metadata,
    store: {},
    events: [],
    model_usage: {},
    role_usage: {},
    attachments: {},
    uuid: sha256(`${log.task} ${log.model} ${log.update} ${id} ${epoch}`).slice(0, 22),
  };
}

function resultsOf(samples: readonly InspectSample[]) {
  const mean = (name: (typeof scoreNames)[number]): number =>
    samples.filter(({ scores }) => scores[name]).length / samples.length;
  return {
    total_samples: samples.length,
    completed_samples: samples.length,
    scores: (samples.length === 0 ? [] : scoreNames).map((name) => ({
      name,
      scorer: name,
      params: {},
      metrics: { mean: { name: 'mean', value: mean(name), params: {} } },
    })),
  };
}

function inspectArchive(head: LogHead, log: InspectLog): Buffer {
  const created = new Date(1000 * head.created).toISOString().replace(/\.\d+Z$/, '+00:00');
  const spec = specOf(head, log, created);
  const plan = {
    name: 'plan',
    steps: [{ solver: 'gradient-quarantine/sample', params: {}, params_passed: {} }],
    config: {},
  };
  const samples = log.samples.map((sample) => sampleOf(log, sample));
  const summaries = samples.map(({ id, epoch, input, target, metadata, uuid, scores }) => ({
    ...{ id, epoch, input, target, metadata, uuid, scores },
    ...{ model_usage: {}, role_usage: {}, completed: true },
  }));
  const usage = { model_usage: {}, role_usage: {}, connection_limit_history: [] };
  const stats = { started_at: created, completed_at: created, ...usage };
  const header = {
    ...{ version: 2, status: 'success', eval: spec, plan, results: resultsOf(log.samples), stats },
    ...{ invalidated: false, tags: [], metadata: {} },
  };
  return zip([
    { name: '_journal/start.json', data: json({ version: 2, eval: spec, plan }) },
    ...samples.map((each) => ({ name: `samples/${each.id}_epoch_${each.epoch}.json`, data: json(each) })),
    { name: 'summaries.json', data: json(summaries) },
    { name: 'header.json', data: json(header) },
  ]);
}

export async function writeInspect(folder: string, head: LogHead, log: InspectLog): Promise<string> {
  makeFolder(folder);
  const stamp = new Date(1000 * head.created).toISOString().slice(0, 19).replace(/:/g, '-');
  const key = sha256(`${head.id} ${log.task} ${log.model} ${log.update}`).slice(0, 22);
  // Names of files have an end; what is cut off is in the key too.
  const task = `${head.name.slice(0, 80)}-${log.task}-${log.model}-${log.update}`
    .replace(/[^\w.-]+|_/g, '-')
    .slice(0, 160);
  const path = join(folder, `${stamp}+00-00_${task}_${key}.eval`);
  await writeFileAtomic(path, inspectArchive(head, log));
  return path;
}

export function evaluationLogs(run: RunDirectory): InspectLog[] {
  return new EvaluationStore(run.path).all().map(({ update, set, state, rows }) => {
    const seen = new Map<string, number>();
    const samples = rows.map(
      ({ problem, loophole, markers, prompt, completion, hack, solve, attempt, compiles, truncated }) => {
        const id = sampleId(problem);
        const epoch = (seen.get(id) ?? 0) + 1;
        seen.set(id, epoch);
        const metadata = { problem, loophole, markers, attempt, compiles };
        return { id, epoch, prompt, completion, truncated, scores: { attempt, hack, solve }, metadata };
      },
    );
    return { task: set, model: state, update, samples };
  });
}

export async function rolloutLogs(run: RunDirectory, wanted: readonly number[] | null): Promise<InspectLog[]> {
  if (!existsSync(run.ledger('rollouts')) && !run.isSealed()) return [];
  const rollouts = await (await openJudged(run)).rows();
  // Updates come in order.
  const chosen = wanted ?? rollouts.slice(-1).map(({ update }) => update);
  const exported = rollouts.filter(({ update }) => chosen.includes(update));
  const byUpdate = groupBy(exported, ({ update }) => update);
  const missing = (wanted ?? []).filter((update) => !byUpdate.has(update));
  if (missing.length > 0) {
    throw new UserError({ call: '--updates', expected: `updates of ${run.path}`, found: missing.join(', ') });
  }
  return [...byUpdate].map(([update, rows]) => ({
    task: `rollouts-${update}`,
    model: 'training',
    update,
    samples: rows.map((row) => {
      const { id, group, member, problem, attempt, hack, solve } = row;
      const { loophole, markers, hackable, source, sampled, reward, advantage, score, route } = row;
      return {
        id: sampleId(`${group}-${problem}`),
        epoch: member + 1,
        prompt: row.prompt,
        completion: row.completion,
        truncated: row.truncated,
        scores: { attempt, hack, solve },
        metadata: { id, problem, loophole, markers, hackable, source, sampled, reward, advantage, score, route },
      };
    }),
  }));
}

const utf8Names = 0x800;
const deflated = 8;
const version = 20;
/** The first of January 1980: the archive of the same entries has the same bytes. */
const noDate = 0x21;

/** Whole numbers of so many bytes, one after another, the lowest byte first. */
function numbers(bytes: 2 | 4, ...values: readonly number[]): Buffer {
  const buffer = Buffer.alloc(bytes * values.length);
  for (const [i, value] of values.entries()) buffer.writeUIntLE(value, bytes * i, bytes);
  return buffer;
}

function zip(entries: readonly { readonly name: string; readonly data: Uint8Array }[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, data } of entries) {
    const [label, body] = [Buffer.from(name), deflateRawSync(data)];
    const facts = Buffer.concat([
      numbers(2, version, utf8Names, deflated, 0, noDate),
      numbers(4, crc32(data), body.length, data.length),
      numbers(2, label.length, 0),
    ]);
    parts.push(numbers(4, 0x04034b50), facts, label, body);
    // After the facts: no comment, the number of the disk, attributes, and where the file begins.
    directory.push(
      numbers(4, 0x02014b50),
      numbers(2, version),
      facts,
      numbers(2, 0, 0, 0, 0, 0),
      numbers(4, offset),
      label,
    );
    offset += 30 + label.length + body.length;
  }
  const listed = Buffer.concat(directory);
  const counts = numbers(2, 0, 0, entries.length, entries.length);
  return Buffer.concat([
    ...parts,
    listed,
    numbers(4, 0x06054b50),
    counts,
    numbers(4, listed.length, offset),
    numbers(2, 0),
  ]);
}
