import { expect, test } from 'vitest';
import { readFloats, Scope, Tape } from '../engine/index.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import { packRows } from '../model/index.ts';
import { smallLab, TinyLab } from '../verify/tiny-model.ts';
import { createAdapter } from './create.ts';
import { scaleRows } from './passes.ts';

const device = createReferenceDevice();
const row = Int32Array.of(1, 2, 3, 4, 5);

/** Final hidden states with an adapter on these targets, every parameter raised by `by`. */
async function hiddenStates(lab: TinyLab, targets: readonly string[], by: number): Promise<Float32Array> {
  using scope = new Scope(device);
  const adapter = await createAdapter(scope, lab.decoder, { family: 'lora', rank: 2, seed: 1, targets });
  for (const { value } of adapter.parameters) device.kernels.affine(value, value, 1, by);
  using tape = new Tape(device);
  const coefficients = scaleRows(tape, [...row].fill(1));
  const batch = packRows(tape, lab.decoder.config, [row]);
  return readFloats(lab.decoder.forward(tape, batch, { project: adapter.project({ coefficients }) }));
}

test.each([[['q_proj']], [['k_proj', 'v_proj']], [['up_proj']], [['q_proj', 'gate_proj', 'down_proj']]])(
  'layers that share an input need not all be adapted: %s',
  async (targets) => {
    using scope = new Scope(device);
    const lab = await TinyLab.create(scope, 'lora', smallLab);
    using tape = new Tape(device);
    const base = await readFloats(lab.decoder.forward(tape, packRows(tape, lab.decoder.config, [row])));
    expect(await hiddenStates(lab, targets, 0)).toEqual(base);
    expect(await hiddenStates(lab, targets, 0.1)).not.toEqual(base);
  },
);
