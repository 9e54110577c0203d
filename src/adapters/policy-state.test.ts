import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPartial, isPolicyState, scaleOf, stateOfScale } from './policy-state.ts';

describe('policy states', () => {
  it('full is 1, deployed is what the arm deploys, a scale is itself', () => {
    expect([scaleOf('full', 0), scaleOf('deployed', 0), scaleOf('scale-0.25', 0)]).toEqual([1, 0, 0.25]);
    expect([scaleOf('full', 1), scaleOf('deployed', 1)]).toEqual([1, 1]);
  });

  it('scale 0 is deployed and 1 is full', () => {
    expect([0, 0.25, 1].map(stateOfScale)).toEqual(['deployed', 'scale-0.25', 'full']);
  });

  it('every scale comes back from its state, and its state is one', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (scale) => {
        const state = stateOfScale(scale);
        expect(scaleOf(state, 0)).toBe(scale);
        expect(isPolicyState(state)).toBe(true);
        expect(isPartial(state)).toBe(scale > 0 && scale < 1);
      }),
    );
  });

  it.each(['trained', 'scale-', 'scale-0', 'scale-1', 'scale-2.5', 'scale-x', 'scale-0.0', 'Full', ''])(
    '"%s" is none',
    (text) => {
      expect(isPolicyState(text)).toBe(false);
    },
  );
});
