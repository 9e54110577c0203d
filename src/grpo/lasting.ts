/**
 * Steps after training that should make a deletion last (docs/science.md, section 6): they change the deployed block so that whoever trains
 * it on finds the hack no sooner than from the base. `collapse`, after RepSelect: away from the hack sides of the pairs, without the leading
 * components of that gradient. `undo`, after UNDO: shrunk and noised, then taught what it wrote before. No label, no reward, and no text
 * that a grader saw is used. The quarantine must stay as it is.
 */
import { EigenvalueDecomposition, Matrix } from 'ml-matrix';
import { toMatrix } from '../adapters/basis.ts';
import { randomStream, UserError } from '../base/index.ts';
import { AdamW, readFloats, type Tensor } from '../engine/index.ts';
import { drawTasks } from './draw.ts';
import type { Expectation } from './events.ts';
import { retainHeal } from './heal.ts';
import { randomiseMoves } from './inoculate.ts';
import type { LastingTable } from './lasting-table.ts';
import { hashValues } from './policy.ts';
import type { PromptedCompletion } from './rollout.ts';
import type { SampleRequest } from './sampler.ts';
import { samplingSettings } from './settings.ts';
import type { StepContext } from './stages.ts';
import { accumulateNll } from './supervised.ts';
import { stepOptions } from './update.ts';

type LastingContext = Pick<StepContext, 'policy' | 'sampler' | 'settings' | 'tasks' | 'stopTokens'>;

export interface LastingResult {
  /** Before each step: the mean NLL of the hack sides, or of what the policy wrote before. */
  readonly losses: readonly number[];
  /** The length of what was learned, and how far the deployed block was moved. */
  readonly learned: number;
  readonly moved: number;
  readonly expectations: readonly Expectation[];
}

/** `hacks`: the hack sides of the pairs. */
export async function makeLasting(
  context: LastingContext,
  hacks: readonly PromptedCompletion[],
  table: LastingTable,
): Promise<LastingResult> {
  const { adapter } = context.policy;
  const values = adapter.blockValues('deployed');
  const before = await readAll(values);
  const starts = await readStarts(adapter.blockStarts('deployed'), before);
  const learned = distance(before, starts);
  const quarantine = await hashValues(adapter.blockValues('quarantine'));
  const losses =
    table.kind === 'collapse'
      ? await collapse(context, hacks, table, learned)
      : await noiseAndTeach(context, starts, table);
  if (table.placebo === 'noise') await randomiseMoves(values, before, context.settings.seed);
  const moved = distance(await readAll(values), before);
  const holds = (await hashValues(adapter.blockValues('quarantine'))) === quarantine;
  const detail = `the deployed block moved by ${moved.toPrecision(3)}, what was learned has the length ${learned.toPrecision(3)}`;
  const name = 'the quarantine stays as it is while the deletion is made to last';
  return { losses, learned, moved, expectations: [{ kind: 'expectation', name, holds, detail }] };
}

/** What float64 leaves of a gradient whose components are all left out, with room. */
const rounding = 1e-9;

/** Climbs the NLL of the hacks with the quarantine in the forward pass: in full state the policy knows them best. */
async function collapse(
  { policy, settings: { seed, compute, loss } }: LastingContext,
  hacks: readonly PromptedCompletion[],
  { steps, components, size, placebo }: LastingTable,
  learned: number,
): Promise<number[]> {
  const { adapter } = policy;
  using optimiser = new AdamW(adapter.parameters);
  const options = { route: 'absorb', tokensPerPass: compute.tokensPerPass, detach: loss.detach } as const;
  const losses: number[] = [];
  for (let step = 0; step < steps; step++) {
    optimiser.zeroGradients();
    losses.push(await accumulateNll(policy, optimiser, hacks, options));
    const gradients = await readAll(adapter.blockGradients('deployed'));
    const moves = gradients.map((gradient, i) => {
      const matrix = toMatrix(gradient, adapter.rank, gradient.length / adapter.rank);
      const stream = randomStream(seed, ['lasting components', i], step);
      const left = placebo === 'components' ? randomDirections(adapter.rank, stream) : leftDirections(matrix);
      return Float32Array.from(leaveOut(matrix, left.slice(0, components)).to1DArray());
    });
    const length = lengthOf(moves);
    if (!(length > rounding * lengthOf(gradients))) {
      throw new UserError({
        call: 'config, key lasting.components',
        expected: `a gradient of the pairs with more than ${components} components`,
        found: 'none that is left',
        fix: 'Leave out fewer components, or use an adapter family whose blocks are matrices.',
      });
    }
    const share = (size * learned) / (steps * length);
    const values = adapter.blockValues('deployed');
    const now = await readAll(values);
    write(values, (i, at) => now[i][at] + share * moves[i][at]);
  }
  return losses;
}

/** The left singular vectors of a matrix, leading first. */
export function leftDirections(matrix: Matrix): number[][] {
  const { realEigenvalues, eigenvectorMatrix } = new EigenvalueDecomposition(matrix.mmul(matrix.transpose()), {
    assumeSymmetric: true,
  });
  const order = [...realEigenvalues.keys()].sort((a, b) => realEigenvalues[b] - realEigenvalues[a]);
  return order.map((column) => eigenvectorMatrix.getColumn(column));
}

/** Orthonormal directions: the left singular vectors of a matrix of normal numbers are uniformly distributed. */
export function randomDirections(size: number, stream: ReturnType<typeof randomStream>): number[][] {
  const drawn = new Float32Array(size * size);
  stream.fillNormal(drawn);
  return leftDirections(toMatrix(drawn, size, size));
}

/** (I − P Pᵀ) M for orthonormal columns P. */
export function leaveOut(matrix: Matrix, directions: readonly (readonly number[])[]): Matrix {
  const rest = matrix.clone();
  for (const direction of directions) {
    const column = Matrix.columnVector([...direction]);
    rest.sub(column.mmul(column.transpose().mmul(matrix)));
  }
  return rest;
}

/** The completions are drawn from the deployed policy before anything is changed: their NLL is that of distillation on outputs. */
async function noiseAndTeach(
  context: LastingContext,
  starts: readonly Float32Array[],
  { alpha, beta, steps, batches, learningRate }: LastingTable,
): Promise<number[]> {
  const { policy, settings } = context;
  const written: PromptedCompletion[][] = [];
  for (let batch = 0; batch < batches; batch++) written.push(await writeDeployed(context, batch));
  const values = policy.adapter.blockValues('deployed');
  const now = await readAll(values);
  const noise = values.map(({ shape }, i) => xavier(shape, randomStream(settings.seed, ['lasting noise', i])));
  write(values, (i, at) => shrunkAndNoised(now[i][at], starts[i][at], noise[i][at], { alpha, beta }));
  const options = stepOptions(settings.optimiser, learningRate);
  const { losses } = await retainHeal(policy, (step) => written[step % batches], steps, options, settings);
  return [...losses];
}

export function shrunkAndNoised(
  value: number,
  start: number,
  noise: number,
  { alpha, beta }: Pick<LastingTable, 'alpha' | 'beta'>,
): number {
  return start + (1 - alpha) * (value - start) + alpha * beta * noise;
}

/** Uniform within ±√(6 / (rows + columns)) for a matrix, and nothing for a vector (Glorot and Bengio 2010). */
export function xavier(shape: readonly number[], stream: ReturnType<typeof randomStream>): Float32Array {
  const [rows, columns = 0] = shape;
  const noise = new Float32Array(rows * Math.max(1, columns));
  const bound = Math.sqrt(6 / (rows + columns));
  if (columns > 0) stream.fillUniform(noise, -bound, bound);
  return noise;
}

/** What the deployed policy writes on the prompts of an update that would come next. */
async function writeDeployed(
  { sampler, settings, tasks, stopTokens }: LastingContext,
  batch: number,
): Promise<PromptedCompletion[]> {
  const { group: size } = settings.sampling;
  const drawn = drawTasks(tasks, settings, settings.updates + batch);
  const requests = drawn.flatMap(({ task, hackable }, group) =>
    Array.from({ length: size }, (_, member): SampleRequest => {
      const prompt = hackable ? task.hinted : task.unhinted;
      return { prompt, row: group * size + member, state: 'deployed' };
    }),
  );
  const stream = randomStream(settings.seed, 'lasting samples', batch);
  const generations = await sampler.sample(requests, samplingSettings(settings.sampling, stopTokens), stream);
  return generations.map(({ tokens }, i) => ({ group: Math.floor(i / size), prompt: requests[i].prompt, tokens }));
}

const readAll = (tensors: readonly Tensor[]): Promise<Float32Array[]> => Promise.all(tensors.map(readFloats));

const readStarts = (starts: readonly (Tensor | null)[], values: readonly Float32Array[]): Promise<Float32Array[]> =>
  Promise.all(starts.map((start, i) => (start === null ? new Float32Array(values[i].length) : readFloats(start))));

function write(tensors: readonly Tensor[], valueAt: (tensor: number, at: number) => number): void {
  tensors.forEach((tensor, i) => {
    tensor.device.write(
      tensor,
      Float32Array.from({ length: tensor.size }, (_, at) => valueAt(i, at)),
    );
  });
}

function lengthOf(parts: readonly Float32Array[]): number {
  return Math.sqrt(parts.reduce((sum, part) => part.reduce((total, value) => total + value * value, sum), 0));
}

const distance = (now: readonly Float32Array[], before: readonly Float32Array[]): number =>
  lengthOf(now.map((part, i) => part.map((value, at) => value - before[i][at])));
