/** The transformer's other kernels: embedding rows, RMSNorm, rotary, SwiGLU, log-softmax, adapter blocks, AdamW. */
import type { Kernels } from '../index.ts';
import { momentsOf, sampleRows } from '../index.ts';
import type { Slab } from './memory.ts';

type Rows = 'gatherRows' | 'scatterRows' | 'scatterAddRows';
type Norm = 'rmsNorm' | 'rmsNormBackward';
type Pointwise = 'rotary' | 'swiglu' | 'swigluBackward' | 'swigluAgain' | 'scaleBlocks';
type Decode = 'advance' | 'sample';
type Loss = 'logSoftmaxGather' | 'logSoftmaxGatherBackward';

export function referenceLayerKernels(slab: Slab): Pick<Kernels, Rows | Norm | Pointwise | Loss | Decode | 'adamw'> {
  return {
    ...referenceRowKernels(slab),
    ...normKernels(slab),
    ...pointwiseKernels(slab),
    ...lossKernels(slab),
    ...decodeKernels(slab),
    adamw(parameter, gradient, m, v, target, squaredNorm, options) {
      const { learningRate, epsilon, decay, maxNorm } = options;
      const { keep1, keep2, bias1, bias2 } = momentsOf(options);
      const [values, gradients] = [slab.floats(parameter), slab.floats(gradient)];
      const [first, second] = [slab.floats(m), slab.floats(v)];
      const goal = target === null ? null : slab.floats(target);
      const clip = Math.min(1, maxNorm / (Math.sqrt(slab.floats(squaredNorm)[0]) + 1e-6));
      for (let i = 0; i < values.length; i++) {
        const g = gradients[i] * clip;
        const mean = keep1 * first[i] + (1 - keep1) * g;
        const square = keep2 * second[i] + (1 - keep2) * g * g;
        first[i] = mean;
        second[i] = square;
        const unbiased = mean / bias1 / (Math.sqrt(square / bias2) + epsilon);
        const updated = values[i] - learningRate * unbiased;
        values[i] = updated - learningRate * decay * (updated - (goal === null ? 0 : goal[i]));
      }
    },
  };
}

function referenceRowKernels(slab: Slab): Pick<Kernels, Rows> {
  return {
    gatherRows(out, table, index) {
      const [source, target, rows] = [slab.floats(table), slab.floats(out), slab.ints(index)];
      const C = table.shape[1];
      for (let n = 0; n < rows.length; n++) target.set(source.subarray(rows[n] * C, (rows[n] + 1) * C), n * C);
    },
    scatterRows(out, x, index) {
      const [source, target, rows] = [slab.floats(x), slab.floats(out), slab.ints(index)];
      const C = out.size / out.shape[0];
      for (let n = 0; n < rows.length; n++) target.set(source.subarray(n * C, (n + 1) * C), rows[n] * C);
    },
    scatterAddRows(out, x, index) {
      const [source, target, rows] = [slab.floats(x), slab.floats(out), slab.ints(index)];
      const C = out.shape[1];
      for (let n = 0; n < rows.length; n++) {
        for (let c = 0; c < C; c++) target[rows[n] * C + c] += source[n * C + c];
      }
    },
  };
}

function normKernels(slab: Slab): Pick<Kernels, Norm> {
  return {
    rmsNorm(out, inverseRms, x, weight, epsilon) {
      const [source, target] = [slab.floats(x), slab.floats(out)];
      const [gain, inverse] = [slab.floats(weight), slab.floats(inverseRms)];
      const C = gain.length;
      for (let n = 0; n < inverse.length; n++) {
        let squares = 0;
        for (let c = 0; c < C; c++) squares += source[n * C + c] ** 2;
        const r = 1 / Math.sqrt(squares / C + epsilon);
        inverse[n] = r;
        for (let c = 0; c < C; c++) target[n * C + c] = source[n * C + c] * r * gain[c];
      }
    },
    rmsNormBackward(dx, dWeight, dy, x, weight, inverseRms, accumulate) {
      const [source, target, upstream] = [slab.floats(x), slab.floats(dx), slab.floats(dy)];
      const [gain, inverse] = [slab.floats(weight), slab.floats(inverseRms)];
      const C = gain.length;
      const dGain = new Float64Array(C);
      for (let n = 0; n < inverse.length; n++) {
        const r = inverse[n];
        let mean = 0;
        for (let c = 0; c < C; c++) mean += (upstream[n * C + c] * gain[c] * source[n * C + c] * r) / C;
        for (let c = 0; c < C; c++) {
          const i = n * C + c;
          const value = r * (upstream[i] * gain[c] - source[i] * r * mean);
          target[i] = accumulate ? target[i] + value : value;
          dGain[c] += upstream[i] * source[i] * r;
        }
      }
      if (dWeight === null) return;
      const sum = slab.floats(dWeight);
      for (let c = 0; c < C; c++) sum[c] += dGain[c];
    },
  };
}

function pointwiseKernels(slab: Slab): Pick<Kernels, Pointwise> {
  return {
    rotary(out, x, positions, table, inverse) {
      const [source, target] = [slab.floats(x), slab.floats(out)];
      const [position, angles] = [slab.ints(positions), slab.floats(table)];
      const [T, H, D] = x.shape;
      const half = D / 2;
      for (let t = 0; t < T; t++) {
        for (let h = 0; h < H; h++) {
          for (let i = 0; i < half; i++) {
            const at = (t * H + h) * D + i;
            const cos = angles[position[t] * D + i];
            const sin = inverse ? -angles[position[t] * D + half + i] : angles[position[t] * D + half + i];
            const [a, b] = [source[at], source[at + half]];
            target[at] = a * cos - b * sin;
            target[at + half] = b * cos + a * sin;
          }
        }
      }
    },
    swiglu(out, gate, up) {
      const [g, u, target] = [slab.floats(gate), slab.floats(up), slab.floats(out)];
      for (let i = 0; i < target.length; i++) target[i] = (g[i] / (1 + Math.exp(-g[i]))) * u[i];
    },
    swigluBackward(dGate, dUp, dy, gate, up) {
      const [g, u, upstream] = [slab.floats(gate), slab.floats(up), slab.floats(dy)];
      const [targetGate, targetUp] = [slab.floats(dGate), slab.floats(dUp)];
      for (let i = 0; i < upstream.length; i++) {
        const [value, other] = [g[i], u[i]];
        const sigmoid = 1 / (1 + Math.exp(-value));
        targetGate[i] = upstream[i] * other * sigmoid * (1 + value * (1 - sigmoid));
        targetUp[i] = upstream[i] * value * sigmoid;
      }
    },
    swigluAgain(out, dGate, dUp, dy, gate, up) {
      this.swiglu(out, gate, up);
      this.swigluBackward(dGate, dUp, dy, gate, up);
    },
    scaleBlocks(out, h, coefficients, rank, column) {
      const [source, target, scale] = [slab.floats(h), slab.floats(out), slab.floats(coefficients)];
      const [T, width] = out.shape;
      const columns = h.shape[1];
      for (let t = 0; t < T; t++) {
        for (let i = 0; i < width; i++) {
          const j = column + i;
          const sign = j < 2 * rank ? 1 : -1;
          target[t * width + i] = sign * source[t * columns + j] * scale[2 * t + (Math.floor(j / rank) % 2)];
        }
      }
    },
  };
}

function lossKernels(slab: Slab): Pick<Kernels, Loss> {
  return {
    logSoftmaxGather(logp, logSumExp, logits, targets) {
      const [scores, target] = [slab.floats(logits), slab.ints(targets)];
      const [result, normaliser] = [slab.floats(logp), slab.floats(logSumExp)];
      const V = logits.shape[1];
      for (let n = 0; n < result.length; n++) {
        let top = Number.NEGATIVE_INFINITY;
        for (let v = 0; v < V; v++) top = Math.max(top, scores[n * V + v]);
        let total = 0;
        for (let v = 0; v < V; v++) total += Math.exp(scores[n * V + v] - top);
        normaliser[n] = top + Math.log(total);
        result[n] = scores[n * V + target[n]] - top - Math.log(total);
      }
    },
    logSoftmaxGatherBackward(logits, logSumExp, targets, dLogp) {
      const [scores, target] = [slab.floats(logits), slab.ints(targets)];
      const [normaliser, upstream] = [slab.floats(logSumExp), slab.floats(dLogp)];
      const V = logits.shape[1];
      for (let n = 0; n < upstream.length; n++) {
        for (let v = 0; v < V; v++) {
          const hit = v === target[n] ? 1 : 0;
          scores[n * V + v] = upstream[n] * (hit - Math.exp(scores[n * V + v] - normaliser[n]));
        }
      }
    },
  };
}

function decodeKernels(slab: Slab): Pick<Kernels, Decode> {
  return {
    advance(counters, by) {
      const [values, steps] = [slab.ints(counters), slab.ints(by)];
      for (let i = 0; i < values.length; i++) values[i] += steps[i % steps.length];
    },
    sample(ids, tokens, logps, logits, slots, rows, counts, options) {
      const arrays = {
        ids: slab.ints(ids),
        tokens: slab.ints(tokens),
        logps: slab.floats(logps),
        logits: slab.floats(logits),
        slots: slab.ints(slots),
        rows: slab.ints(rows),
        counts: slab.ints(counts),
        ...(options.streams === undefined ? {} : { streams: slab.ints(options.streams) }),
      };
      sampleRows(arrays, tokens.shape[1], options);
    },
  };
}
