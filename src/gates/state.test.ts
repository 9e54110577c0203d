import { describe, expect, it } from 'vitest';
import { UserError } from '../base/index.ts';
import { Gate, type GateSettings } from './gate.ts';
import { gateStateFrom, gateStateOf, type SavedGate } from './state.ts';

const settings: GateSettings = {
  calibration: 'quantile',
  score: 'dot',
  tail: 0.25,
  keepTail: null,
  halfLife: 4,
  bufferRows: 6,
  warmupRows: 0,
  keepOnly: 'any',
  bufferTokens: null,
};
const gateOf = () => new Gate(settings, { modules: 1, rank: 2, data: Float32Array.of(1, 0.5) });
const features = (...rows: readonly (readonly [number, number])[]) => ({
  rows: rows.length,
  modules: 1,
  rank: 2,
  data: Float32Array.from(rows.flat()),
});

/** Has a gate decide on rollouts of one row each. */
function decide(gate: Gate, ...rows: readonly (readonly [number, number])[]) {
  const rollouts = rows.map((row) => gate.condense(features(row)));
  return gate.calibrate(rollouts).route(rollouts, []);
}

/** A gate that has seen more rows than it holds, and pairs. */
function used(): Gate {
  const gate = gateOf();
  gate.refresh({ modules: 1, rank: 2, data: Float32Array.of(0.6, 0.8) }, features([2, 1]), features([-1, 1 / 3]));
  for (let i = 0; i < 4; i++) decide(gate, [i, -i], [i / 3, 1]);
  return gate;
}
const saved = (): SavedGate => gateStateOf(used().state);
const tensor = (...data: number[]) => ({ shape: [data.length], data: Float32Array.from(data) });

describe('the state of a gate', () => {
  it('says its facts in words and its rows in tensors, and comes back as it was', () => {
    const { state } = used();
    const { json, tensors } = gateStateOf(state);
    expect(json).toEqual({ width: 2, added: 8, pairCuts: state.pairCuts });
    expect([...tensors.keys()]).toEqual(['buffer', 'counts', 'direction']);
    expect(tensors.get('buffer')?.shape).toEqual([6, 2]);
    expect(tensors.get('counts')?.data).toEqual(Float32Array.of(1, 1, 1, 1, 1, 1));
    expect(tensors.get('direction')).toEqual({ shape: [2], data: Float32Array.of(0.6, 0.8) });
    expect(gateStateFrom({ json: JSON.parse(JSON.stringify(json)), tensors })).toEqual(state);
    const [one, other] = [used(), gateOf()];
    other.restore(gateStateFrom(saved()));
    expect(decide(other, [3, 3])).toEqual(decide(one, [3, 3]));
  });

  it('of a gate that has seen nothing comes back too', () => {
    const { state } = gateOf();
    expect(gateStateFrom(gateStateOf(state))).toEqual(state);
    expect(gateStateOf(state).tensors.get('buffer')?.shape).toEqual([0, 2]);
  });

  const without = (name: string) => new Map([...saved().tensors].filter(([own]) => own !== name));
  const withTensor = (name: string, ...data: number[]) => new Map([...saved().tensors, [name, tensor(...data)]]);
  it.each([
    { what: 'no facts', given: { ...saved(), json: null }, found: /expected object/ },
    { what: 'facts of another arm', given: { ...saved(), json: { count: 3 } }, found: /width/ },
    { what: 'a fact too many', given: { ...saved(), json: { ...saved().json, router: 1 } }, found: /"router"/ },
    { what: 'a count in words', given: { ...saved(), json: { ...saved().json, added: '8' } }, found: /added/ },
    { what: 'half a row as width', given: { ...saved(), json: { ...saved().json, width: 0.5 } }, found: /width/ },
    {
      what: 'a cut that is missing',
      given: { ...saved(), json: { ...saved().json, pairCuts: { low: 1 } } },
      found: /high/,
    },
    {
      what: 'no buffer',
      given: { ...saved(), tensors: without('buffer') },
      found: /found tensors counts, direction\./,
    },
    {
      what: 'no direction',
      given: { ...saved(), tensors: without('direction') },
      found: /found tensors buffer, counts\./,
    },
    {
      what: 'no counts',
      given: { ...saved(), tensors: without('counts') },
      found: /found tensors buffer, direction\./,
    },
    { what: 'no tensors', given: { ...saved(), tensors: new Map() }, found: /found tensors none\./ },
    {
      what: 'a buffer cut short',
      given: { ...saved(), tensors: withTensor('buffer', 1, 2, 3) },
      found: /found 3 numbers in the buffer/,
    },
    {
      what: 'more rows than were added',
      given: { ...saved(), json: { ...saved().json, added: 5 } },
      found: /found 12 numbers in the buffer/,
    },
    {
      what: 'rows without a width',
      given: { ...saved(), json: { ...saved().json, width: 0 } },
      found: /width/,
    },
    {
      what: 'counts of other rows',
      given: { ...saved(), tensors: withTensor('counts', 1, 2) },
      found: /found 12 numbers in the buffer for 3 rows of 2 rollouts/,
    },
    {
      what: 'a direction of another width',
      given: { ...saved(), tensors: withTensor('direction', 1, 2, 3) },
      found: /3 in the direction/,
    },
  ])('with $what is refused by name', ({ given, found }) => {
    const reading = () => gateStateFrom(given);
    expect(reading).toThrow(UserError);
    expect(reading).toThrow(/^restore the gate: expected a buffer, its counts, a direction and their facts, found /);
    expect(reading).toThrow(found);
  });
});
