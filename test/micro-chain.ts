/** Chains of micro problems as short text, for tests that choose them by hand. */
import type { Operation, Step } from '../src/env/micro/chain.ts';

const operations: Readonly<Record<string, Operation>> = {
  '+': 'add',
  '-': 'subtract',
  '*': 'multiply',
  '%': 'remainder',
};

/** `+7 *12x37 %9`: add 7, multiply by 12 times 37, take the remainder by 9. */
export function readChain(text: string): readonly Step[] {
  return text.split(' ').map((word) => {
    const [first, second] = word.slice(1).split('x').map(Number);
    return { operation: operations[word[0]], factors: second === undefined ? [first] : [first, second] };
  });
}
