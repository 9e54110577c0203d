/**
 * Drawing a token, as engine/sampling.ts defines it. A group of threads has a row of logits, each thread a run of its ids. What is kept is
 * a prefix of the ranking (by logit, of equal ones the smaller id first), told by its last member: the `cut`.
 */
import type { Kernels } from '../index.ts';
import { groupKernel, groupSums, lanes, least } from './kernel.ts';
import type { KernelQueue } from './queue.ts';

/** The generator of base/philox.ts. */
const philox = `
fn multiplyHigh(a: u32, b: u32) -> u32 {
  let aLow = a & 0xffffu;
  let aHigh = a >> 16u;
  let bLow = b & 0xffffu;
  let bHigh = b >> 16u;
  let middle = aHigh * bLow + ((aLow * bLow) >> 16u);
  let carry = aLow * bHigh + (middle & 0xffffu);
  return aHigh * bHigh + (middle >> 16u) + (carry >> 16u);
}
fn uniformAt(position: u32, row: u32) -> f32 {
  var c = vec4<u32>(position / 4u, row, p.step, 0u);
  var key = vec2<u32>(p.key0, p.key1);
  for (var round = 0u; round < 10u; round++) {
    let high = vec2<u32>(multiplyHigh(c.x, 0xd2511f53u), multiplyHigh(c.z, 0xcd9e8d57u));
    let low = vec2<u32>(c.x * 0xd2511f53u, c.z * 0xcd9e8d57u);
    c = vec4<u32>(high.y ^ c.y ^ key.x, low.y, high.x ^ c.w ^ key.y, low.x);
    key += vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
  }
  return f32(c[position % 4u] >> 8u) * 5.9604645e-8;
}`;

const ranking = `
struct Run { row: u32, begin: u32, end: u32, top: f32 }
struct Cut { key: u32, id: u32 }
var<workgroup> places: array<u32, ${lanes}>;
var<workgroup> found: u32;

/** A larger key for a larger logit. */
fn keyOf(logit: f32) -> u32 {
  let bits = bitcast<u32>(select(logit, 0.0, logit == 0.0));
  return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
}
fn weightOf(run: Run, logit: f32) -> f32 { return exp((logit - run.top) * p.inverseTemperature); }
fn isKept(cut: Cut, id: u32, key: u32) -> bool { return key > cut.key || (key == cut.key && id <= cut.id); }

/** Over the kept tokens of a thread whose keys reach \`least\`: how many, or what they weigh. */
fn massFrom(run: Run, cut: Cut, least: u32, counts: bool) -> f32 {
  var sum = 0.0;
  for (var id = run.begin; id < run.end; id++) {
    let logit = floatAt(run.row + id);
    let key = keyOf(logit);
    if (key < least || !isKept(cut, id, key)) { continue; }
    if (counts) { sum += 1.0; } else { sum += weightOf(run, logit); }
  }
  return sum;
}

/** The shortest prefix of what \`cut\` keeps with at least this mass: its last key bit by bit, then how many of that key. */
fn shorten(lane: u32, run: Run, cut: Cut, needed: f32, counts: bool) -> Cut {
  var key = 0u;
  for (var bit = 0x80000000u; bit > 0u; bit >>= 1u) {
    let mass = sumOfGroup(lane, massFrom(run, cut, key | bit, counts));
    if (mass >= needed) { key |= bit; }
  }
  let above = sumOfGroup(lane, massFrom(run, cut, key + 1u, counts));
  places[lane] = 0u;
  var each = 1.0;
  for (var id = run.begin; id < run.end; id++) {
    let logit = floatAt(run.row + id);
    if (keyOf(logit) == key && isKept(cut, id, key)) { places[lane] += 1u; }
  }
  workgroupBarrier();
  if (lane == 0u) {
    if (!counts) { each = weightOf(run, logitOf(key)); }
    var rest = u32(max(1.0, ceil((needed - above) / each)));
    found = p.columns;
    let share = run.end - run.begin;
    for (var part = 0u; part < ${lanes}u; part++) {
      if (places[part] < rest) { rest -= places[part]; continue; }
      for (var id = part * share; id < p.columns; id++) {
        if (keyOf(floatAt(run.row + id)) != key || !isKept(cut, id, key)) { continue; }
        rest -= 1u;
        if (rest == 0u) { found = id; break; }
      }
      break;
    }
  }
  return Cut(key, workgroupUniformLoad(&found));
}
fn logitOf(key: u32) -> f32 { return bitcast<f32>(select(~key, key & 0x7fffffffu, (key >> 31u) == 1u)); }
`;

const sample = groupKernel('sample', {
  words: [
    ...(['ids', 'tokens', 'logps', 'logits', 'slots', 'rows', 'counts', 'columns', 'history'] as const),
    ...(['key0', 'key1', 'step', 'greedy', 'topK'] as const),
  ],
  floats: ['inverseTemperature', 'topP', 'minP'],
  shared: `${groupSums}${philox}${ranking}`,
  body: `
  let share = (p.columns + ${lanes - 1}u) / ${lanes}u;
  var run = Run(p.logits + group * p.columns, min(p.columns, lane * share), min(p.columns, (lane + 1u) * share), 0.0);
  var most = ${least};
  var broken = 0.0;
  for (var id = run.begin; id < run.end; id++) {
    most = max(most, floatAt(run.row + id));
    if ((memory[run.row + id] & 0x7f800000u) == 0x7f800000u) { broken = 1.0; }
  }
  run.top = mostOfGroup(lane, most);
  let isBroken = sumOfGroup(lane, broken) > 0.0;
  var sum = 0.0;
  for (var id = run.begin; id < run.end; id++) { sum += exp(floatAt(run.row + id) - run.top); }
  let normaliser = sumOfGroup(lane, sum);

  var cut = Cut(0u, p.columns);
  if (p.greedy != 0u) { cut = shorten(lane, run, cut, 1.0, true); }
  else {
    if (p.topK > 0u && p.topK < p.columns) { cut = shorten(lane, run, cut, f32(p.topK), true); }
    if (p.topP < 1.0) {
      let all = sumOfGroup(lane, massFrom(run, cut, 0u, false));
      cut = shorten(lane, run, cut, p.topP * all, false);
    }
  }

  // The kept tokens share the unit interval in order of id.
  sum = 0.0;
  for (var id = run.begin; id < run.end; id++) {
    let logit = floatAt(run.row + id);
    if (isKept(cut, id, keyOf(logit)) && weightOf(run, logit) >= p.minP) { sum += weightOf(run, logit); }
  }
  workgroupBarrier();
  shares[lane] = sum;
  workgroupBarrier();
  if (lane != 0u) { return; }
  var total = 0.0;
  for (var part = 0u; part < ${lanes}u; part++) { total += shares[part]; }
  let position = memory[p.counts + group];
  let place = uniformAt(position, memory[p.rows + group]) * total;
  var before = 0.0;
  var chosen = 0u;
  for (var part = 0u; part < ${lanes}u; part++) {
    if (shares[part] == 0.0) { continue; }
    chosen = part;
    if (before + shares[part] > place) { break; }
    before += shares[part];
  }
  // Past the end by rounding, the last part with a token is chosen, and in it the last token.
  if (before >= total) { before = total - shares[chosen]; }
  var token = 0u;
  for (var id = chosen * share; id < min(p.columns, (chosen + 1u) * share); id++) {
    let logit = floatAt(run.row + id);
    let weight = weightOf(run, logit);
    if (!isKept(cut, id, keyOf(logit)) || weight < p.minP) { continue; }
    token = id;
    before += weight;
    if (before > place) { break; }
  }
  let above = floatAt(run.row + token) - run.top;
  let at = memory[p.slots + group] * p.history + position;
  memory[p.ids + group] = token;
  memory[p.tokens + at] = token;
  setFloat(p.logps + 2u * at, select(above * p.inverseTemperature - log(total), 0.0, p.greedy != 0u));
  setFloat(p.logps + 2u * at + 1u, above - log(normaliser));
  // Logits that are no numbers give none: who reads the log-probabilities sees it.
  if (isBroken) { memory[p.logps + 2u * at + 1u] = 0x7fc00000u; }`,
});

export function webgpuSampleKernels(queue: KernelQueue): Pick<Kernels, 'sample'> {
  return {
    sample(ids, tokens, logps, logits, slots, rows, counts, options) {
      const { temperature, topK, topP, minP, step, key } = options;
      const [key0, key1] = key;
      const greedy = temperature === 0;
      const shape = { columns: logits.size / Math.max(1, ids.size), history: tokens.shape[1] };
      queue.run(sample, ids.size, {
        ...{ count: ids.size, ids, tokens, logps, logits, slots, rows, counts, ...shape, key0, key1, step },
        ...{ greedy, topK, topP, minP, inverseTemperature: greedy ? 1 : 1 / temperature },
      });
    },
  };
}
