/**
 * The deletion certificate of an export. It lists inputs and outputs by hash. It certifies that the written files compute what the
 * policy computes in deployed state (largest difference of logits on a fixed probe set, after reading the files back), and that the
 * quarantine is not in them: no row or column of it occurs in a PEFT tensor, and merged weights are the base plus the deployed change.
 * It does not hold on a base that carries the quarantine of an earlier run, as the marks of the base and the manifest of the run say.
 */
import { readdir } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import type { Adapter, AdapterCheckpoint, MergedDType, StoredTensor } from '../adapters/index.ts';
import { mergedTensor, readPeft, scaleOf, scaleRows, transpose } from '../adapters/index.ts';
import type { AdaptedState } from '../adapters/policy-state.ts';
import { randomStream, UserError } from '../base/index.ts';
import { sha256, sha256File } from '../base/node/index.ts';
import { add, type Device, linear, matmul, readFloats, Scope, Tape } from '../engine/index.ts';
import { hashModel } from '../lab/index.ts';
import { type Decoder, type LabelMarks, ModelFolder, markWords, type Project, packRows } from '../model/index.ts';
import { openDecoder } from '../verify/index.ts';

/** Bounds on the largest difference of logits, relative to the largest logit. */
const exportBounds: Readonly<Record<MergedDType, number>> = { F32: 1e-4, F16: 1e-2, BF16: 5e-2 };

const unmarked: LabelMarks = { labels: 'unknown', settings: 'unknown', quarantine: 'none' };

const baseFindings: Readonly<Record<LabelMarks['quarantine'], readonly string[]>> = {
  none: [],
  kept: ['the base carries the quarantine of an earlier run, which nothing deleted'],
  unknown: [
    'whether the base carries the quarantine of an earlier run is not known: an earlier version exported it, or its marks cannot be read',
  ],
};

const probe = { prompts: 8, tokens: 16, seed: 20 } as const;

type ExportedPart = ReturnType<typeof judge>;

/** An export as trained, or at another scale of the quarantine, deletes nothing: its record certifies the logits only. Runs that start from an export inherit its labels. */
export type DeletionCertificate = Awaited<ReturnType<typeof certify>>;

/** Names the base of an export. Another base than the adapter was trained on is refused: what is deleted was never in it. */
export async function expectBase(folder: ModelFolder, trainedOn: string | null) {
  const hash = await hashModel(folder);
  if (trainedOn === null || trainedOn === hash) {
    return { directory: resolve(folder.directory), hash, isTrainedOn: trainedOn !== null };
  }
  throw new UserError({
    call: `export with the base ${folder.directory}`,
    expected: `the model that the adapter was trained on (hash ${trainedOn.slice(0, 12)})`,
    found: `other content in that folder (hash ${hash.slice(0, 12)})`,
    fix: 'Name the folder of that model with --model, or restore it.',
  });
}

export interface ExportSource {
  readonly base: Awaited<ReturnType<typeof expectBase>>;
  readonly device: Device;
  readonly folder: ModelFolder;
  readonly checkpoint: AdapterCheckpoint;
  readonly adapter: Adapter;
  readonly decoder: Decoder;
  readonly state?: AdaptedState;
  readonly marks?: LabelMarks;
}

export async function certify(source: ExportSource, directory: string) {
  const { device, folder, checkpoint, adapter, decoder, state = 'deployed', marks = unmarked } = source;
  const rows = probeRows(folder);
  const scaled = (scale: number) => probeLogits(device, decoder, rows, adapterProject(adapter, rows, scale));
  const [deployed, full] = [await scaled(0), await scaled(1)];
  const wanted = state === 'deployed' ? deployed : await scaled(scaleOf(state, 0));
  const vectors = quarantineVectors(checkpoint);
  const forbidden: ReadonlyMap<string, string> = state === 'deployed' ? vectors : new Map();
  const parts: ExportedPart[] = [];
  const formats = await readdir(directory);
  if (formats.includes('peft')) parts.push(await certifyPeft(source, join(directory, 'peft'), rows, wanted, forbidden));
  if (formats.includes('merged')) {
    parts.push(await certifyMerged(source, join(directory, 'merged'), rows, wanted));
  }
  const modelFiles = (await readdir(folder.directory, { withFileTypes: true })).filter((entry) => entry.isFile());
  const { path, initialPath } = checkpoint;
  const inputs: Record<string, string> = { checkpoint: await sha256File(path) };
  if (initialPath !== null) inputs['initial'] = await sha256File(initialPath);
  const modelPaths = modelFiles.map(({ name }) => join(folder.directory, name));
  const model = await hashFiles(modelPaths, folder.directory, 'model');
  const written = await Promise.all(
    formats.map(async (name) => (await readdir(join(directory, name))).map((file) => join(directory, name, file))),
  );
  const { labels, settings, quarantine: mark } = marks;
  const findings = state === 'deployed' ? baseFindings[mark] : [];
  return {
    kind: state === 'deployed' ? ('deletion certificate' as const) : ('export record' as const),
    state,
    schema: 2 as const,
    adapter: { family: adapter.family, rank: adapter.rank, modules: adapter.modules.length },
    base: source.base,
    /** What labels had to do with these weights; in words also whether a quarantine is in them. */
    ...{ labels, settings },
    words: markWords(marks),
    inputs: { ...inputs, ...model },
    outputs: await hashFiles(written.flat(), directory),
    probe: { ...probe, device: device.name },
    /**
     * The largest difference of logits between the full and the deployed policy, the number of distinct quarantine vectors, and whether a
     * quarantine is in these weights, this one or that of an earlier run.
     */
    quarantine: { effect: largestDifference(full, deployed), vectors: vectors.size, mark },
    parts,
    /** What else speaks against a deletion; with any, it does not hold. */
    findings,
    holds: parts.length > 0 && parts.every(({ holds }) => holds) && findings.length === 0,
  };
}

async function hashFiles(paths: readonly string[], root: string, under = ''): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  for (const path of [...paths].sort()) hashes[join(under, relative(root, path))] = await sha256File(path);
  return hashes;
}

/** The probe set: token ids from a fixed stream, the same for every export of a model. */
function probeRows({ config }: ModelFolder): Int32Array[] {
  const length = Math.min(probe.tokens, config.maxPositions);
  return Array.from({ length: probe.prompts }, (_, row) => {
    const ids = new Int32Array(length);
    randomStream(probe.seed, 'export probe').at(0, row).fillIntegers(ids, config.vocabSize);
    return ids;
  });
}

type ProjectIn = (scope: Scope) => Project;

function adapterProject(adapter: Adapter, rows: readonly Int32Array[], scale: number): ProjectIn {
  const tokens = rows.reduce((sum, row) => sum + row.length, 0);
  return (scope) => adapter.project({ coefficients: scaleRows(scope, new Array<number>(tokens).fill(scale)) });
}

async function probeLogits(
  device: Device,
  decoder: Decoder,
  rows: readonly Int32Array[],
  projectIn?: ProjectIn,
): Promise<Float32Array> {
  using tape = new Tape(device);
  const options = projectIn === undefined ? {} : { project: projectIn(tape) };
  const hidden = decoder.forward(tape, packRows(tape, decoder.config, rows), options);
  return await readFloats(linear(tape, hidden, decoder.head));
}

function largestDifference(a: Float32Array, b: Float32Array): number {
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
}

function judge(
  format: 'peft' | 'merged',
  dtype: MergedDType,
  found: Float32Array,
  deployed: Float32Array,
  contents: { readonly tensors: readonly string[]; readonly quarantineFound: readonly string[] },
) {
  const maxLogitDifference = largestDifference(found, deployed);
  const largestLogit = deployed.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const bound = exportBounds[dtype];
  const holds = maxLogitDifference <= bound * largestLogit && contents.quarantineFound.length === 0;
  return { format, dtype, maxLogitDifference, largestLogit, bound, ...contents, holds };
}

async function certifyPeft(
  { device, decoder }: ExportSource,
  directory: string,
  rows: readonly Int32Array[],
  deployed: Float32Array,
  vectors: ReadonlyMap<string, string>,
): Promise<ExportedPart> {
  const { changes, tensors } = await readPeft(directory);
  using scope = new Scope(device);
  const project: Project = (tape, x, layers, onto) =>
    layers.map(({ module, weight, bias }) => {
      const plain = linear(tape, x, weight, bias);
      const change = changes.get(module);
      if (change === undefined) return onto === null ? plain : add(tape, onto, plain);
      const { rank, down, up } = change;
      const downs = scope.from(down, [rank, down.length / rank], `${module} lora_A`);
      const ups = scope.from(up, [rank, up.length / rank], `${module} lora_B`);
      const changed = add(tape, plain, matmul(tape, linear(tape, x, downs), ups));
      return onto === null ? changed : add(tape, onto, changed);
    });
  const found = await probeLogits(device, decoder, rows, () => project);
  const quarantineFound = [...changes].flatMap(([module, { rank, down, up }]) =>
    [...vectorsOf(`${module} lora_A row`, down, rank), ...vectorsOf(`${module} lora_B column`, up, rank)].flatMap(
      ([hash, name]) => (vectors.has(hash) ? [`${name} is ${vectors.get(hash)}`] : []),
    ),
  );
  return judge('peft', 'F32', found, deployed, { tensors, quarantineFound });
}

/** A merged weight must be, bit for bit, the base weight plus the deployed change: nothing else can be in it. */
async function certifyMerged(
  { device, folder, adapter }: ExportSource,
  directory: string,
  rows: readonly Int32Array[],
  deployed: Float32Array,
): Promise<ExportedPart> {
  await using merged = await ModelFolder.open(directory);
  using scope = new Scope(device);
  const found = await probeLogits(device, await openDecoder(scope, merged), rows);
  const quarantineFound: string[] = [];
  let dtype: MergedDType = 'F32';
  for (const [name, entry] of merged.weights.entries) {
    if (entry.dtype === 'F16' || entry.dtype === 'BF16') dtype = entry.dtype;
    const expected = await mergedTensor(folder.weights.entry(name), entry.dtype, adapter);
    const bytes = new Uint8Array(expected.buffer, expected.byteOffset, expected.byteLength);
    const stored = await entry.file.read(name);
    const same = sha256(bytes) === sha256(new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength));
    if (!same) quarantineFound.push(`${name} is not the base weight plus the deployed change`);
  }
  return judge('merged', dtype, found, deployed, { tensors: [...merged.weights.entries.keys()], quarantineFound });
}

/** Hash and name of every non-zero row of data [rows, ·], from row `first` on. */
function* vectorsOf(
  name: string,
  data: Float32Array,
  rows: number,
  first = 0,
): Generator<readonly [hash: string, name: string]> {
  const width = data.length / rows;
  for (let row = first; row < rows; row++) {
    const hash = hashDirection(data.subarray(row * width, (row + 1) * width));
    if (hash !== undefined) yield [hash, `${name} ${row}`];
  }
}

/** Hash of a vector after making its first non-zero value positive; undefined for a vector of zeros. */
function hashDirection(vector: Float32Array): string | undefined {
  const lead = vector.find((value) => value !== 0);
  if (lead === undefined) return undefined;
  const turned = vector.map((value) => (lead < 0 ? -value : value) + 0);
  return sha256(new Uint8Array(turned.buffer));
}

function quarantineVectors({ rank, modules, tensors }: AdapterCheckpoint): Map<string, string> {
  const vectors = new Map<string, string>();
  const collect = (name: string, data: Float32Array): void => {
    for (const [hash, at] of vectorsOf(name, data, 2 * rank, rank)) vectors.set(hash, at);
  };
  for (const module of modules) {
    const tensor = (suffix: string): StoredTensor =>
      tensors.get(`${module}.${suffix}`) ?? { shape: [], data: new Float32Array() };
    if (tensors.has(`${module}.gain`)) {
      const [down, up, gain] = [tensor('down'), tensor('up'), tensor('gain')];
      collect(`${module}.down row`, down.data);
      collect(`${module}.up row`, up.data);
      const width = up.data.length / (2 * rank);
      const scaled = up.data.map((value, i) => value * Math.tanh(gain.data[Math.floor(i / width)]));
      collect(`${module}.up row, scaled,`, scaled);
      continue;
    }
    for (const suffix of ['A', 'A0']) collect(`${module}.${suffix} row`, tensor(suffix).data);
    // A B that is frozen is B0, and not stored itself.
    for (const suffix of tensors.has(`${module}.B`) ? ['B', 'B0'] : ['B0']) {
      const { shape, data } = tensor(suffix);
      collect(`${module}.${suffix} column`, transpose(data, shape[0], 2 * rank));
    }
  }
  return vectors;
}
