/** Numbers that only a programmer would write, in every option of every command that takes a whole number. */
import { describe, expect, it } from 'vitest';
import type { Part } from '../../src/cli/command.ts';
import { loadCommands } from '../../src/cli/table.ts';

const taking = (await loadCommands()).flatMap(({ words, value }) =>
  Object.entries({ ...value.arguments, ...value.options })
    .filter(([, part]) => /^<(?:n|id|index|list)>$/.test(part.takes) && accepts(part, '1'))
    .map(([name, part]) => [`gq ${words.join(' ')}, ${name}`, part] as const),
);

function accepts({ read }: Part<unknown>, text: string): boolean {
  if (read === undefined) return false;
  try {
    const answer = read(text, undefined);
    return typeof answer === 'number' || (Array.isArray(answer) && typeof answer[0] === 'number');
  } catch {
    return false;
  }
}

const odd = ['0x1', '1e0', ' 1', '1 ', '1.0', '+1', '01', '0b1', '１'];

describe('options that take numbers', () => {
  it('are found', () => expect(taking.length).toBeGreaterThan(30));

  it.each(taking)('%s', (_, part) => {
    const isShare = part.about.includes('0.25');
    expect(odd.filter((text) => accepts(part, text))).toEqual(isShare ? ['1.0'] : []);
  });

  it.each(taking.filter(([name]) => /, (?:jobs|pack|workers|rows|gpus|cpus|ranks|sandboxWorkers)$/.test(name)))(
    '%s, no more than a machine could have',
    (_, part) => expect(accepts(part, '1000000000')).toBe(false),
  );
});
