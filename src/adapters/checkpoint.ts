/**
 * An adapter as a safetensors file: for every module its learned values and the initial ones they are measured from, in float32, with
 * what is needed to build it again (family, rank, modules, schema) in the metadata. A run keeps the two parts in two files, and the
 * description in its manifest. Reading is strict: a missing, extra, misshaped or non-finite tensor is an error that names it.
 */
import { UserError } from '../base/index.ts';
import type { Scope } from '../engine/index.ts';
import type { DecoderConfig } from '../model/index.ts';
import { findNonFinite, SafetensorsFile, writeSafetensors } from '../model/index.ts';
import type { Adapter, StoredTensor } from './adapter.ts';
import { assembleAdapter } from './create.ts';
import { adapterShapes } from './shapes.ts';
import { builtinStarts, findStart } from './starts/registry.ts';
import type { AdapterStart, InitialFactors } from './starts/start.ts';
import { type TargetModule, targetModules } from './targets.ts';
import { transpose } from './transpose.ts';

const format = 'gradient-quarantine adapter';
const checkpointSchema = 1;

export interface AdapterCheckpoint {
  readonly path: string;
  /** The file of the initial values; null where everything is in one file. */
  readonly initialPath: string | null;
  readonly family: string;
  readonly rank: number;
  /** Names of the adapted modules, sorted. */
  readonly modules: readonly string[];
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  /** Metadata that the writer added. */
  readonly metadata: Readonly<Record<string, string>>;
}

export async function writeCheckpoint(
  path: string,
  adapter: Adapter,
  metadata: Readonly<Record<string, string>> = {},
): Promise<void> {
  const tensors = await adapter.tensors();
  const entries = [...tensors].map(([name, { shape, data }]) => ({
    name,
    dtype: 'F32' as const,
    shape,
    data: () => data,
  }));
  await writeSafetensors(path, entries, {
    ...metadata,
    format,
    schema: `${checkpointSchema}`,
    family: adapter.family,
    rank: `${adapter.rank}`,
    modules: JSON.stringify(adapter.modules.map(({ name }) => name)),
  });
}

/** The description that a file without metadata needs from its reader. */
export type CheckpointKind = Pick<AdapterCheckpoint, 'family' | 'rank' | 'modules'>;

/** `known` and `initialPath`: the description of a file and where its initial values are, as a run keeps them apart. */
export async function readCheckpoint(
  path: string,
  known?: CheckpointKind,
  initialPath: string | null = null,
): Promise<AdapterCheckpoint> {
  await using file = await SafetensorsFile.open(path);
  const { format: _format, schema: _schema, family: _family, rank: _rank, modules: _modules, ...rest } = file.metadata;
  const kind = known !== undefined && file.metadata['format'] === undefined ? known : parseKind(path, file.metadata);
  const tensors = await readTensors(path, file);
  if (initialPath !== null) {
    await using initial = await SafetensorsFile.open(initialPath);
    for (const [name, tensor] of await readTensors(initialPath, initial)) tensors.set(name, tensor);
  }
  return { path, initialPath, ...kind, tensors, metadata: rest };
}

function parseKind(path: string, metadata: Readonly<Record<string, string>>): CheckpointKind {
  const { format: kind, schema, family, rank, modules } = metadata;
  const refuse = (key: string, expected: string, found: string | undefined): never => {
    throw new UserError({ call: `read ${path}, metadata ${key}`, expected, found: found ?? 'nothing' });
  };
  if (kind !== format) refuse('format', format, kind);
  if (schema !== `${checkpointSchema}`) refuse('schema', `${checkpointSchema}`, schema);
  const names: unknown = JSON.parse(modules ?? 'null');
  const listed = Array.isArray(names) && names.every((name) => typeof name === 'string');
  if (!listed) return refuse('modules', 'a list of module names', modules);
  const size = Number(rank);
  if (!Number.isInteger(size) || size < 1) refuse('rank', 'a whole number ≥ 1', rank);
  if (family === undefined) return refuse('family', 'the name of a start', family);
  return { family, rank: size, modules: names };
}

async function readTensors(path: string, file: SafetensorsFile): Promise<Map<string, StoredTensor>> {
  const tensors = new Map<string, StoredTensor>();
  for (const [name, { dtype, shape }] of file.entries) {
    if (dtype !== 'F32') {
      throw new UserError({ call: `read ${path}, tensor ${name}`, expected: 'F32', found: dtype });
    }
    const data = await file.readFloat32(name);
    const bad = findNonFinite(data, dtype);
    if (bad >= 0) {
      const found = `${data[bad]} at element ${bad}`;
      throw new UserError({ call: `read ${path}, tensor ${name}`, expected: 'finite values', found });
    }
    tensors.set(name, { shape, data });
  }
  return tensors;
}

/** The adapter of a checkpoint, for a model of this shape. */
export function restoreAdapter(
  scope: Scope,
  config: DecoderConfig,
  checkpoint: AdapterCheckpoint,
  starts: readonly AdapterStart[] = builtinStarts,
): Adapter {
  const { family, rank } = checkpoint;
  const { parametrisation } = findStart(family, starts);
  for (const module of checkpointModules(config, checkpoint)) {
    const { learned } = adapterShapes(parametrisation, rank, module);
    for (const [suffix, shape] of Object.entries(learned)) expectTensor(checkpoint, `${module.name}.${suffix}`, shape);
  }
  const adapter = restoreStart(scope, config, checkpoint, starts);
  adapter.load(checkpoint.tensors);
  return adapter;
}

/** The adapter as it was before its first update: A0 and B0 are those of the checkpoint, nothing is computed again. */
export function restoreStart(
  scope: Scope,
  config: DecoderConfig,
  checkpoint: AdapterCheckpoint,
  starts: readonly AdapterStart[] = builtinStarts,
): Adapter {
  const { path, family, rank, tensors } = checkpoint;
  const start = findStart(family, starts);
  const modules = checkpointModules(config, checkpoint);
  const factors = new Map<string, InitialFactors>();
  const known = new Set<string>();
  for (const module of modules) {
    const { learned, initial } = adapterShapes(start.parametrisation, rank, module);
    for (const suffix of [...Object.keys(learned), ...Object.keys(initial)]) known.add(`${module.name}.${suffix}`);
    const [first, second] = Object.entries(initial).map(([suffix, shape]) =>
      expectTensor(checkpoint, `${module.name}.${suffix}`, shape),
    );
    const isBasis = start.parametrisation === 'antipasto';
    factors.set(module.name, { A0: first, B0: isBasis ? transpose(second, 2 * rank, module.outputs) : second });
  }
  const extra = [...tensors.keys()].find((name) => !known.has(name));
  if (extra !== undefined) {
    const expected = `the tensors of a ${family} adapter`;
    throw new UserError({ call: `read ${path}`, expected, found: `also ${extra}` });
  }
  return assembleAdapter(scope, start, rank, modules, factors);
}

function expectTensor({ path, tensors }: AdapterCheckpoint, name: string, shape: readonly number[]): Float32Array {
  const found = tensors.get(name);
  if (found?.shape.join() === shape.join()) return found.data;
  throw new UserError({
    call: `read ${path}, tensor ${name}`,
    expected: `[${shape.join(',')}]`,
    found: found === undefined ? 'no such tensor' : `[${found.shape.join(',')}]`,
  });
}

function checkpointModules(config: DecoderConfig, { path, modules }: AdapterCheckpoint): TargetModule[] {
  const all = new Map(targetModules(config).map((module) => [module.name, module]));
  return modules.map((name) => {
    const module = all.get(name);
    if (module !== undefined) return module;
    const expected = `modules of a ${config.architecture} with ${config.layers} layers`;
    throw new UserError({ call: `read ${path}, metadata modules`, expected, found: name });
  });
}
