/**
 * A run as a page keeps it: what each update adds to the files that grow, and all of them as a folder, with the bytes that `gq train` writes
 * for the same config. It has one checkpoint, that of the last update, so that the command line goes on from there.
 */
import type { StoredTensor } from '../adapters/index.ts';
import { sha256, sha256Json } from '../base/node/index.ts';
import type { Verdict } from '../env/verdict.ts';
import type { TrainEvent, TrainerState } from '../grpo/index.ts';
import { headerOf, orderTensors, sizeOfTensor } from '../model/files/safetensors-header.ts';
import { verdictColumns } from '../oracle/judged/columns.ts';
import { makeRow } from '../run/columns/index.ts';
import { directionRow, noFeatures, rolloutRows, stampedJson, trainerTensors } from '../run/contents.ts';
import type { Manifest, RunConfig, StateFile } from '../run/index.ts';
import { type PhaseSeconds, stepWarnings } from '../run/sink.ts';

/** What one update adds to the files of its run. */
export type Pieces = Readonly<Record<'events' | 'rollouts' | 'verdicts' | 'timings', string>> & {
  readonly directions: Uint8Array;
};

/** What a page cannot know of a run, made where the page is written. */
export type ManifestFrame = Manifest;

export interface RecordedRun {
  readonly frame: ManifestFrame;
  readonly name: string;
  readonly config: RunConfig;
  readonly facts: Pick<Manifest, 'arm' | 'armSees' | 'hasQuarantine' | 'device' | 'usesOracle'>;
  readonly state: TrainerState;
  readonly initial: ReadonlyMap<string, StoredTensor>;
  readonly pieces: readonly Pieces[];
}

const lineOf = (value: unknown): string => `${JSON.stringify(value)}\n`;
const linesOf = (values: readonly unknown[]): string => values.map(lineOf).join('');
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

export function piecesOf(
  events: readonly TrainEvent[],
  verdicts: Iterable<Verdict>,
  seconds: PhaseSeconds,
  stored: { readonly storeTokens: boolean; readonly promptText: (tokens: Int32Array) => string },
): Pieces {
  const steps = events.filter((event) => event.kind === 'step');
  const told = events.filter(({ kind }) => kind !== 'rollouts' && kind !== 'direction');
  const rollouts = events.filter((event) => event.kind === 'rollouts');
  const directions = events.filter((event) => event.kind === 'direction').map(directionRow);
  return {
    events: linesOf([...told, ...steps.flatMap(stepWarnings)]),
    rollouts: linesOf(rollouts.flatMap((event) => rolloutRows(event, { ...stored, place: () => noFeatures }))),
    verdicts: linesOf([...verdicts].map((verdict) => makeRow(verdictColumns, verdict))),
    timings: linesOf(steps.map(({ update }) => ({ update, seconds }))),
    directions: joined(directions.map(({ buffer }) => new Uint8Array(buffer as ArrayBuffer))),
  };
}

/** Frees the numbers of a state at once, where the engine can: 3 MB an update would else lie there until the whole heap is collected. */
export function letGo({ adapter, moments }: TrainerState): void {
  const tensors = [...adapter.values(), ...[...moments.values()].flatMap(({ m, v }) => [m, v])];
  for (const { data } of tensors) (data.buffer as { transfer?(bytes: number): unknown }).transfer?.(0);
}

/** The files of the run, by their paths in its folder. */
export function filesOfRun(run: RecordedRun): ReadonlyMap<string, Uint8Array> {
  const { frame, name, config, facts, state, initial, pieces } = run;
  const grown = {
    events: encode(pieces.map(({ events }) => events).join('')),
    rollouts: encode(pieces.map(({ rollouts }) => rollouts).join('')),
    features: new Uint8Array(),
    directions: joined(pieces.map(({ directions }) => directions)),
  };
  const each = <Value>(make: (bytes: Uint8Array) => Value): Record<keyof typeof grown, Value> =>
    Object.fromEntries(Object.entries(grown).map(([file, bytes]) => [file, make(bytes)])) as never;
  const verdicts = encode(pieces.map((piece) => piece.verdicts).join(''));
  const tensors = [state.adapter, trainerTensors(state), initial].map(safetensorsOf);
  const [adapter, trainer, first] = tensors.map((bytes) => sha256(bytes));
  const { update, momentsFrom, directionAge, tripwire } = state;
  const file: StateFile = {
    ...{ update, momentsFrom, directionAge, tripwire, arm: state.arm?.json ?? null },
    lengths: {
      ...each(({ length }) => length),
      verdicts: pieces.flatMap((own) => own.verdicts.match(/\n/g) ?? []).length,
    },
    hashes: { adapter, trainer, initial: first, ...each((bytes) => sha256(bytes)) },
  };
  const { plugins: _none, ...hashed } = config;
  const identity = { ...frame.identity, config: sha256Json(hashed) };
  const manifest: Manifest = {
    ...frame,
    ...facts,
    name,
    config,
    command: ['playground'],
    identity,
    created: new Date().toISOString(),
  };
  const folder = `checkpoints/${String(update).padStart(5, '0')}`;
  return new Map([
    ['manifest.json', encode(stampedJson(manifest))],
    ['events.jsonl', grown.events],
    ['rollouts.jsonl', grown.rollouts],
    ['verdicts.jsonl', verdicts],
    ['features.f32', grown.features],
    ['directions.f32', grown.directions],
    ['timings.jsonl', encode(pieces.map(({ timings }) => timings).join(''))],
    ['checksums.json', encode(stampedJson({ verdicts: { [update]: sha256(verdicts) } }))],
    ['initial.safetensors', tensors[2]],
    [`${folder}/adapter.safetensors`, tensors[0]],
    [`${folder}/trainer.safetensors`, tensors[1]],
    [`${folder}/state.json`, encode(stampedJson(file))],
  ]);
}

function safetensorsOf(tensors: ReadonlyMap<string, StoredTensor>): Uint8Array {
  const named = [...tensors].map(([name, { shape, data }]) => ({ name, dtype: 'F32' as const, shape, data }));
  const ordered = orderTensors(named, 'the run');
  return joined([
    headerOf(ordered, {}),
    ...ordered.map((tensor) => new Uint8Array(tensor.data.buffer, tensor.data.byteOffset, sizeOfTensor(tensor))),
  ]);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const block = 512;

/** The files as a tar archive (POSIX ustar), all in one folder. */
export function tarOf(folder: string, files: ReadonlyMap<string, Uint8Array>): Uint8Array {
  const entries = [...files].flatMap(([name, bytes]) => {
    const header = new Uint8Array(block);
    const put = (at: number, text: string): void => header.set(encode(text), at);
    put(0, `${folder}/${name}`);
    put(100, '0000644\0');
    put(124, `${bytes.length.toString(8).padStart(11, '0')}\0`);
    put(
      136,
      `${Math.floor(Date.now() / 1000)
        .toString(8)
        .padStart(11, '0')}\0`,
    );
    put(148, '        0');
    put(257, 'ustar\x0000');
    const sum = header.reduce((total, byte) => total + byte, 0);
    put(148, `${sum.toString(8).padStart(6, '0')}\0 `);
    return [header, bytes, new Uint8Array((block - (bytes.length % block)) % block)];
  });
  return joined([...entries, new Uint8Array(2 * block)]);
}
