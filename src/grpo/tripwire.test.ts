import { describe, expect, it } from 'vitest';
import { Tripwire } from './tripwire.ts';

describe('the tripwire', () => {
  it('trips on two values in a row far below the best, and not on one', () => {
    const wire = new Tripwire(5);
    for (const value of [-2, -1, -6.5, -1.5, -6.5]) {
      wire.watch(value, 'text');
      expect(wire.state.tripped).toBeNull();
    }
    wire.watch(-7, 'the last text');
    expect(wire.state.tripped).toContain('last sample: the last text');
    expect(wire.state.tripped).toContain('best -1');
  });

  it('a value that is not finite is a strike, and its state can be taken up again', () => {
    const wire = new Tripwire(5);
    wire.watch(Number.NaN, 'a');
    const other = new Tripwire(5);
    other.restore(wire.state);
    other.watch(Number.NEGATIVE_INFINITY, 'b');
    expect(other.state).toMatchObject({ best: null, strikes: 2 });
    expect(other.state.tripped).not.toBeNull();
  });
});
