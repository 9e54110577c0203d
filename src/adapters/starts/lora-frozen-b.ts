/**
 * lora-frozen-b: the factors of lora, of which B stays as it is and only A learns. The change is then B0 (A − A0): neither it nor its
 * gradient depends on A0, which is not zero, so that A x and what gates read of it are alive at the start, as in lora.
 */
import { lora } from './lora.ts';
import { defineStart } from './start.ts';

export const loraFrozenB = defineStart({
  ...lora,
  name: 'lora-frozen-b',
  summary: 'the factors of lora; A learns, B stays as it is',
  parametrisation: 'frozen-b',
});
