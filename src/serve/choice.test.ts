import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TextStream } from './choice.ts';

/** Bytes as tokens, as byte tokenizers have them: characters may take several. */
const decode = (tokens: readonly number[]): string => new TextDecoder().decode(Uint8Array.from(tokens));

function pieces(text: string, stops: readonly string[]): { told: string[]; stream: TextStream } {
  const stream = new TextStream({ decode, stops });
  const told: string[] = [];
  for (const byte of Buffer.from(text)) {
    told.push(stream.push(byte));
    if (stream.isStopped) break;
  }
  return { told: [...told, stream.finish()], stream };
}

describe('a text in the making', () => {
  it('never tells half a character', () => {
    const { told } = pieces('aé🦊b', []);
    expect(told.filter((piece) => piece !== '')).toEqual(['a', 'é', '🦊', 'b']);
  });

  it('holds back what may become a stop text, and tells it when it does not', () => {
    expect(pieces('one ENx END two', ['END']).told.join('')).toBe('one ENx ');
    expect(pieces('one EN', ['END']).told.join('')).toBe('one EN');
    expect(pieces('one END', ['END']).told.every((piece) => !piece.includes('E'))).toBe(true);
  });

  it('is the whole text up to the first stop text, in any text', () => {
    const alphabet = fc.constantFrom('a', 'b', 'é', '🦊');
    const text = fc.string({ unit: alphabet, maxLength: 20 });
    const stops = fc.array(fc.string({ unit: alphabet, minLength: 1, maxLength: 3 }), { maxLength: 3 });
    fc.assert(
      fc.property(text, stops, (all, ends) => {
        const { told, stream } = pieces(all, ends);
        // The text is read from left to right: the stop text that is complete first ends it.
        const end = Math.min(
          ...[...all].flatMap((_, i, list) => {
            const read = list.slice(0, i + 1).join('');
            const found = ends.map((stop) => read.indexOf(stop)).filter((at) => at >= 0);
            return found.length > 0 ? [Math.min(...found) + 1000 * i] : [];
          }),
        );
        expect(told.join('')).toBe(Number.isFinite(end) ? all.slice(0, end % 1000) : all);
        expect(stream.text).toBe(told.join(''));
      }),
    );
  });
});
