/** Elementwise kernels, casts, and what AdamW does to each parameter. */
import { floatToBfloat16, floatToFloat16 } from '../../base/index.ts';
import { type BinaryKind, type DType, type Kernels, momentsOf, type Tensor, type UnaryKind } from '../index.ts';
import { elementKernel, type Kernel, threads } from './kernel.ts';
import type { KernelQueue } from './queue.ts';

const mapped = <Float extends string = never>(name: string, value: string, floats: readonly Float[] = []) =>
  elementKernel(name, {
    words: ['out', 'x'],
    floats,
    body: `let x = floatAt(p.x + i); setFloat(p.out + i, ${value});`,
  });

// tanh of the language may overflow: this one cannot.
const unaryValues: Readonly<Record<UnaryKind, string>> = {
  exp: 'exp(x)',
  log: 'log(x)',
  sqrt: 'sqrt(x)',
  reciprocal: '1.0 / x',
  tanh: 'sign(x) * (1.0 - exp(-2.0 * abs(x))) / (1.0 + exp(-2.0 * abs(x)))',
  square: 'x * x',
};
const binaryValues: Readonly<Record<BinaryKind, string>> = {
  add: 'a + b',
  subtract: 'a - b',
  multiply: 'a * b',
  divide: 'a / b',
  minimum: 'min(a, b)',
  maximum: 'max(a, b)',
  lessEqual: 'select(0.0, 1.0, a <= b)',
};

function eachOf<Kind extends string, Made>(
  values: Readonly<Record<Kind, string>>,
  make: (kind: string, value: string) => Made,
) {
  const made = Object.entries<string>(values).map(([kind, value]) => [kind, make(kind, value)]);
  return Object.fromEntries(made) as Readonly<Record<Kind, Made>>;
}

const unaries = eachOf(unaryValues, mapped);
const binaries = eachOf(binaryValues, (kind, value) =>
  elementKernel(kind, {
    words: ['out', 'a', 'b', 'repeat'],
    body: `let a = floatAt(p.a + i); let b = floatAt(p.b + i % p.repeat); setFloat(p.out + i, ${value});`,
  }),
);
const affine = mapped('affine', 'p.scale * x + p.shift', ['scale', 'shift']);
const clamp = mapped('clamp', 'min(max(x, p.low), p.high)', ['low', 'high']);
const inside = mapped('inside', 'select(0.0, 1.0, x >= p.low && x <= p.high)', ['low', 'high']);
const fillWords = elementKernel('fill', { words: ['out', 'value'], body: 'memory[p.out + i] = p.value;' });
const copyWords = elementKernel('copy', { words: ['out', 'x'], body: 'memory[p.out + i] = memory[p.x + i];' });
const advance = elementKernel('advance', {
  words: ['out', 'by', 'repeat'],
  body: 'memory[p.out + i] += memory[p.by + i % p.repeat];',
});

const sigmoid = 'fn sigmoid(x: f32) -> f32 { return 1.0 / (1.0 + exp(-x)); }';
const swiglu = elementKernel('swiglu', {
  words: ['out', 'gate', 'up'],
  shared: sigmoid,
  body: 'let gate = floatAt(p.gate + i); setFloat(p.out + i, gate * sigmoid(gate) * floatAt(p.up + i));',
});
const swigluBackward = elementKernel('swigluBackward', {
  words: ['dGate', 'dUp', 'dy', 'gate', 'up'],
  shared: sigmoid,
  body: `
  let gate = floatAt(p.gate + i);
  let up = floatAt(p.up + i);
  let dy = floatAt(p.dy + i);
  let s = sigmoid(gate);
  setFloat(p.dGate + i, dy * up * s * (1.0 + gate * (1.0 - s)));
  setFloat(p.dUp + i, dy * gate * s);`,
});

const adamw = elementKernel('adamw', {
  words: ['parameter', 'gradient', 'm', 'v', 'goal', 'squaredNorm', 'clips', 'hasTarget'],
  floats: ['rate', 'keep1', 'keep2', 'add1', 'add2', 'unbias1', 'unbias2', 'epsilon', 'decay', 'maxNorm'],
  body: `
  var clip = 1.0;
  if (p.clips != 0u) { clip = min(1.0, p.maxNorm / (sqrt(floatAt(p.squaredNorm)) + 1e-6)); }
  let g = floatAt(p.gradient + i) * clip;
  let m = p.keep1 * floatAt(p.m + i) + p.add1 * g;
  let v = p.keep2 * floatAt(p.v + i) + p.add2 * g * g;
  setFloat(p.m + i, m);
  setFloat(p.v + i, v);
  let moved = floatAt(p.parameter + i) - p.rate * (m * p.unbias1 / (sqrt(v * p.unbias2) + p.epsilon));
  var goal = 0.0;
  if (p.hasTarget != 0u) { goal = floatAt(p.goal + i); }
  setFloat(p.parameter + i, moved - p.decay * (moved - goal));`,
});

/** The bits of a float32 from those of a type, and back, to nearest even. */
const widenings: Readonly<Record<DType, string>> = {
  f32: 'return memory[at];',
  i32: 'return memory[at];',
  bf16: 'return halfAt(at) << 16u;',
  f16: `
  let half = halfAt(at);
  let sign = (half & 0x8000u) << 16u;
  let exponent = (half >> 10u) & 0x1fu;
  let fraction = half & 0x3ffu;
  if (exponent == 31u) { return sign | 0x7f800000u | (select(0u, 0x400000u, fraction != 0u)); }
  if (exponent == 0u) { return sign | bitcast<u32>(f32(fraction) * 5.9604645e-8); }
  return sign | ((exponent + 112u) << 23u) | (fraction << 13u);`,
};
const narrowings = {
  bf16: `
  if ((bits & 0x7fffffffu) > 0x7f800000u) { return (bits >> 16u) | 0x40u; }
  return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;`,
  f16: `
  let sign = (bits >> 16u) & 0x8000u;
  let magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) { return sign | 0x7e00u; }
  if (magnitude >= 0x47800000u) { return sign | 0x7c00u; }
  if (magnitude < 0x38800000u) { return sign | u32(round(bitcast<f32>(magnitude) * 16777216.0)); }
  return sign | ((magnitude + 0xfffu + ((magnitude >> 13u) & 1u) - 0x38000000u) >> 13u);`,
};
type Half = keyof typeof narrowings;
const isHalf = (dtype: DType): dtype is Half => dtype === 'bf16' || dtype === 'f16';

/** Two halves share a word, which one thread writes; a neighbour's half in the first or last word stays. */
const writeHalves = (valueAt: string): string => `
  let word = p.out / 2u + i;
  var result = memory[word];
  for (var side = 0u; side < 2u; side++) {
    let at = 2u * word + side;
    if (at < p.out || at >= p.out + p.halves) { continue; }
    let shift = 16u * side;
    result = (result & ~(0xffffu << shift)) | ((${valueAt}) << shift);
  }
  memory[word] = result;`;

const castKernel = (from: DType, to: DType): Kernel<'size' | 'out' | 'x' | 'halves', never> =>
  elementKernel(`copy ${from} to ${to}`, {
    words: ['out', 'x', 'halves'],
    shared: `fn widen(at: u32) -> u32 { ${widenings[from]} }
fn narrow(bits: u32) -> u32 { ${isHalf(to) ? narrowings[to] : 'return bits;'} }`,
    body: isHalf(to) ? writeHalves('narrow(widen(p.x + at - p.out))') : 'memory[p.out + i] = widen(p.x + i);',
  });
const floatTypes = ['f32', 'bf16', 'f16'] as const;
const casts = new Map<string, ReturnType<typeof castKernel>>(
  floatTypes.flatMap((from) => floatTypes.map((to) => [`${from} ${to}`, castKernel(from, to)] as const)),
);
const fillHalves = elementKernel('fillHalves', { words: ['out', 'halves', 'value'], body: writeHalves('p.value') });

const bits = new DataView(new ArrayBuffer(4));
function bitsOf(value: number): number {
  bits.setFloat32(0, value);
  return bits.getUint32(0);
}

/** Words that the halves of a tensor lie in. */
const wordsOf = ({ offset, size }: Tensor): number =>
  size === 0 ? 0 : Math.floor((offset / 2 + size - 1) / 2) - Math.floor(offset / 4) + 1;

/** Bounds of the language's own numbers, which have no infinities. */
const finite = (value: number): number => Math.min(Math.max(value, -3.4028234663852886e38), 3.4028234663852886e38);

export const groupsFor = (size: number): number => Math.ceil(size / threads);

type Names =
  | 'fill'
  | 'copy'
  | 'affine'
  | 'add'
  | 'unary'
  | 'binary'
  | 'clamp'
  | 'inside'
  | 'swiglu'
  | 'swigluBackward'
  | 'advance'
  | 'adamw';

export function webgpuElementwiseKernels(queue: KernelQueue): Pick<Kernels, Names> {
  return {
    fill(out, value) {
      if (isHalf(out.dtype)) {
        const half = out.dtype === 'bf16' ? floatToBfloat16(value) : floatToFloat16(value);
        const size = wordsOf(out);
        queue.run(fillHalves, groupsFor(size), { size, out, halves: out.size, value: half });
      } else {
        const word = out.dtype === 'i32' ? value : bitsOf(value);
        queue.run(fillWords, groupsFor(out.size), { size: out.size, out, value: word });
      }
    },
    copy(out, x) {
      const cast = out.dtype === x.dtype && !isHalf(out.dtype) ? undefined : casts.get(`${x.dtype} ${out.dtype}`);
      if (cast === undefined) queue.run(copyWords, groupsFor(out.size), { size: out.size, out, x });
      else {
        const size = isHalf(out.dtype) ? wordsOf(out) : out.size;
        queue.run(cast, groupsFor(size), { size, out, x, halves: out.size });
      }
    },
    affine: (out, x, scale, shift) => queue.run(affine, groupsFor(out.size), { size: out.size, out, x, scale, shift }),
    add: (out, x) =>
      queue.run(binaries.add, groupsFor(out.size), { size: out.size, out, a: out, b: x, repeat: out.size }),
    unary: (kind, out, x) => queue.run(unaries[kind], groupsFor(out.size), { size: out.size, out, x }),
    binary: (kind, out, a, b) =>
      queue.run(binaries[kind], groupsFor(out.size), { size: out.size, out, a, b, repeat: b.size }),
    clamp: (out, x, low, high) =>
      queue.run(clamp, groupsFor(out.size), { size: out.size, out, x, low: finite(low), high: finite(high) }),
    inside: (out, x, low, high) =>
      queue.run(inside, groupsFor(out.size), { size: out.size, out, x, low: finite(low), high: finite(high) }),
    swiglu: (out, gate, up) => queue.run(swiglu, groupsFor(out.size), { size: out.size, out, gate, up }),
    swigluBackward: (dGate, dUp, dy, gate, up) =>
      queue.run(swigluBackward, groupsFor(dy.size), { size: dy.size, dGate, dUp, dy, gate, up }),
    advance: (out, by) => queue.run(advance, groupsFor(out.size), { size: out.size, out, by, repeat: by.size }),
    adamw(parameter, gradient, m, v, target, squaredNorm, options) {
      const { learningRate: rate, epsilon, decay, maxNorm } = options;
      const { keep1, keep2, bias1, bias2 } = momentsOf(options);
      queue.run(adamw, groupsFor(parameter.size), {
        ...{ size: parameter.size, parameter, gradient, m, v, goal: target, squaredNorm, hasTarget: target !== null },
        ...{ rate, keep1, keep2, add1: 1 - keep1, add2: 1 - keep2, unbias1: 1 / bias1, unbias2: 1 / bias2, epsilon },
        ...{ decay: rate * decay, clips: Number.isFinite(maxNorm), maxNorm: finite(maxNorm) },
      });
    },
  };
}
