/** A plugin whose arm goes another way on one rank: it changes the summed gradients there, from the second update on. */
import { z } from 'zod';
import { defineArm } from '../../src/grpo/index.ts';

const ownWay = defineArm({
  kind: 'own-way',
  summary: 'other gradients on one rank',
  quarantine: false,
  settings: z.strictObject({ rank: z.number().default(2) }),
  open({ rank }) {
    let updates = 0;
    return {
      sees: { features: null, text: false },
      async gradient([{ gradient }]) {
        updates++;
        if (updates < 2 || Number(process.env['OMPI_COMM_WORLD_RANK']) !== rank) return;
        const values = Float32Array.from(await gradient.device.read(gradient));
        values[0] += 1e-3;
        gradient.device.write(gradient, values);
      },
    };
  },
});

export const arms = [ownWay];
