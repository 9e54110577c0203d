/**
 * A plugin: an arm that trains as vanilla does, as many updates as the number in a file says, and waits there. So a run lasts until the test that looks on
 * has seen it, however fast the machine is. Where the file is gone the run fails, and does not outlive its test.
 */
import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { defineArm } from '../../src/grpo/arm.ts';

const held = defineArm({
  kind: 'held',
  summary: 'as vanilla, as many updates as a file allows',
  quarantine: false,
  uses: [],
  settings: z.strictObject({ file: z.string().describe('the file with the number of updates') }),
  open: ({ file }) => ({
    sees: { features: null, text: false },
    async refresh(step) {
      while (Number(readFileSync(file, 'utf8')) <= step) await setTimeout(20);
      return null;
    },
  }),
});

export const arms = [held];
