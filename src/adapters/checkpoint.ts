/**
 * An adapter as a safetensors file: for every module its values and the frozen part they are measured from, in float32, with
 * what is needed to build it again (family, rank, modules, schema) in the metadata. Reading is strict: a missing, extra,
 * misshaped or non-finite tensor is an error that names it.
 */
import { UserError } from '../base/index.ts';
import type { Scope } from '../engine/index.ts';
import type { DecoderConfig } from '../model/index.ts';
import { findNonFinite, SafetensorsFile, writeSafetensors } from '../model/index.ts';
import type { Adapter, StoredTensor } from './adapter.ts';
import { assembleAdapter } from './create.ts';
import { builtinStarts, findStart } from './starts/registry.ts';
import type { AdapterStart, InitialFactors } from './starts/start.ts';
import { type TargetModule, targetModules } from './targets.ts';
import { transpose } from './transpose.ts';

const format = 'gradient-quarantine adapter';
const checkpointSchema = 1;

export interface AdapterCheckpoint {
  readonly path: string;
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

/** `known` describes a file whose writer keeps the description elsewhere, as a run does in its manifest. */
export async function readCheckpoint(path: string, known?: CheckpointKind): Promise<AdapterCheckpoint> {
  await using file = await SafetensorsFile.open(path);
  const { format: _format, schema: _schema, family: _family, rank: _rank, modules: _modules, ...rest } = file.metadata;
  const kind = known !== undefined && file.metadata['format'] === undefined ? known : parseKind(path, file.metadata);
  return { path, ...kind, tensors: await readTensors(path, file), metadata: rest };
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
  const expected = new Set<string>();
  for (const module of modules) {
    const read = (suffix: string, shape: readonly number[]): Float32Array => {
      const name = `${module.name}.${suffix}`;
      expected.add(name);
      const found = tensors.get(name);
      if (found?.shape.join() === shape.join()) return found.data;
      throw new UserError({
        call: `read ${path}, tensor ${name}`,
        expected: `[${shape.join(',')}]`,
        found: found === undefined ? 'no such tensor' : `[${found.shape.join(',')}]`,
      });
    };
    factors.set(module.name, storedFactors(start, rank, module, read));
  }
  const extra = [...tensors.keys()].find((name) => !expected.has(name));
  if (extra !== undefined) {
    const wanted = `the tensors of a ${family} adapter`;
    throw new UserError({ call: `read ${path}`, expected: wanted, found: `also ${extra}` });
  }
  return assembleAdapter(scope, start, rank, modules, factors);
}

/** Reads every tensor the parametrisation has, so that each is checked, and returns what the adapter starts from. */
function storedFactors(
  { parametrisation }: AdapterStart,
  rank: number,
  { inputs, outputs }: TargetModule,
  read: (suffix: string, shape: readonly number[]) => Float32Array,
): InitialFactors {
  if (parametrisation === 'antipasto') {
    read('gain', [2 * rank]);
    read('rotation', [rank, rank]);
    const up = read('up', [2 * rank, outputs]);
    return { A0: read('down', [2 * rank, inputs]), B0: transpose(up, 2 * rank, outputs) };
  }
  read('A', [2 * rank, inputs]);
  read('B', [outputs, 2 * rank]);
  return { A0: read('A0', [2 * rank, inputs]), B0: read('B0', [outputs, 2 * rank]) };
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
