/** Steps of a few rows whose layers are joined: outputs side by side in columns, changes of adapters beside them. */
import type { Kernels, Tensor } from '../index.ts';
import type { Slab } from './memory.ts';

type Names = 'jointFits' | 'jointProducts' | 'jointNorm' | 'jointSwiglu' | 'jointTurn';

export function referenceJointKernels(slab: Slab): Pick<Kernels, Names> {
  /** Values of base + change, each rounded. */
  const sumOf = (base: Tensor, change: Tensor | null): Float32Array => {
    const more = change === null ? null : slab.floats(change);
    return slab.floats(base).map((value, i) => value + (more?.[i] ?? 0));
  };
  const normed = (row: Float32Array, weight: Tensor, epsilon: number): Float32Array => {
    const gain = slab.floats(weight);
    const r = 1 / Math.sqrt(row.reduce((sum, value) => sum + value ** 2, 0) / row.length + epsilon);
    return row.map((value, i) => value * r * gain[i]);
  };
  /** The product of row t of x with row o of a matrix of rows as long. */
  const dot = (x: Float32Array, t: number, matrix: Float32Array, o: number, length: number): number => {
    let sum = 0;
    for (let i = 0; i < length; i++) sum += x[t * length + i] * matrix[o * length + i];
    return sum;
  };
  return {
    jointFits: (rows) => rows > 0,
    jointProducts(base, change, onto, x, weights, hs, adapters) {
      const [rows, inputs] = x.shape;
      const columns = base.shape[1];
      const [source, target] = [slab.floats(x), slab.floats(base)];
      const added = onto === null ? null : slab.floats(onto).slice();
      let before = 0;
      weights.forEach((weight, layer) => {
        const [outputs] = weight.shape;
        const values = slab.floats(weight);
        for (let t = 0; t < rows; t++) {
          for (let o = 0; o < outputs; o++) {
            const at = t * columns + before + o;
            target[at] = Math.fround(dot(source, t, values, o, inputs)) + (added?.[at] ?? 0);
          }
        }
        if (adapters !== null && change !== null) {
          const { downs, ups, coefficients, rank } = adapters;
          const [h, down, up] = [slab.floats(hs[layer]), slab.floats(downs[layer]), slab.floats(ups[layer])];
          const [depth] = downs[layer].shape;
          const [scale, changed] = [slab.floats(coefficients), slab.floats(change)];
          for (let t = 0; t < rows; t++) {
            for (let d = 0; d < depth; d++) h[t * depth + d] = dot(source, t, down, d, inputs);
            for (let o = 0; o < outputs; o++) {
              const halves = [0, 0];
              for (let d = 0; d < depth; d++) {
                const coefficient = scale[2 * t + (Math.floor(d / rank) % 2)];
                halves[d < 2 * rank ? 0 : 1] += coefficient * h[t * depth + d] * up[d * outputs + o];
              }
              changed[t * columns + before + o] = halves[0] - halves[1];
            }
          }
        }
        before += outputs;
      });
    },
    jointNorm(out, base, change, weight, epsilon) {
      const columns = base.shape[1];
      const sum = sumOf(base, change);
      slab.floats(base).set(sum);
      for (let at = 0; at < sum.length; at += columns) {
        slab.floats(out).set(normed(sum.subarray(at, at + columns), weight, epsilon), at);
      }
    },
    jointSwiglu(out, base, change) {
      const [rows, columns] = out.shape;
      const [sum, target] = [sumOf(base, change), slab.floats(out)];
      for (let t = 0; t < rows; t++) {
        for (let c = 0; c < columns; c++) {
          const [gate, up] = [sum[2 * t * columns + c], sum[(2 * t + 1) * columns + c]];
          target[t * columns + c] = (gate / (1 + Math.exp(-gate))) * up;
        }
      }
    },
    jointTurn(out, [keys, values], base, change, [queryWeight, keyWeight], epsilon, positions, table, slots) {
      const [tokens, heads, size] = out.shape;
      const keyHeads = keys.shape[1];
      const [sum, angles] = [sumOf(base, change), slab.floats(table)];
      const [position, slot] = [slab.ints(positions), slab.ints(slots)];
      const turned = (row: Float32Array, weight: Tensor, angle: number): Float32Array => {
        const x = normed(row, weight, epsilon);
        return x.map((value, i) => {
          const pair = i % (size / 2);
          const [cos, sin] = [angles[angle + pair], angles[angle + size / 2 + pair]];
          return i < size / 2 ? value * cos - x[i + size / 2] * sin : value * cos + x[pair] * sin;
        });
      };
      for (let t = 0; t < tokens; t++) {
        for (let head = 0; head < heads + 2 * keyHeads; head++) {
          const start = (t * (heads + 2 * keyHeads) + head) * size;
          const row = sum.subarray(start, start + size);
          const at = (slot[t] * keyHeads + ((head - heads) % keyHeads)) * size;
          if (head < heads) {
            slab.floats(out).set(turned(row, queryWeight, position[t] * size), (t * heads + head) * size);
          } else if (head < heads + keyHeads) slab.floats(keys).set(turned(row, keyWeight, position[t] * size), at);
          else slab.floats(values).set(row, at);
        }
      }
    },
  };
}
