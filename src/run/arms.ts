/**
 * Arms as values: the router of every arm that needs no labels. The oracle's router lives across the wall and is passed in
 * by whoever holds the verdicts.
 */
import type { TokenPair } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import { Gate, type GateSettings, haarDirection } from '../gates/index.ts';
import type { Policy } from '../grpo/index.ts';
import { absorbRouter, gateRouter, massMatchedRouter, type Router, rebuildDirection } from '../grpo/index.ts';
import type { ArmConfig, RunConfig } from './schema.ts';

export type GateArm = Extract<ArmConfig, { kind: 'activation' | 'gradient' }>;

export function isGateArm(arm: ArmConfig): arm is GateArm {
  return arm.kind === 'activation' || arm.kind === 'gradient';
}

/** The quarantine's scale in deployed state: arms without a quarantine deploy everything they train. */
export function deployedScale({ kind }: ArmConfig): number {
  return kind === 'vanilla' || kind === 'no-loophole' ? 1 : 0;
}

/** The keys of a gate as the gate takes them. */
export function gateSettings(arm: GateArm): GateSettings {
  return {
    calibration: arm.calibration,
    score: arm.score,
    tail: arm.tail,
    keepTail: arm.keepTail,
    halfLife: arm.halfLife === 0 ? null : arm.halfLife,
    bufferRows: arm.bufferRows,
    warmupRows: arm.warmupRows,
  };
}

export function blindRouter(config: RunConfig, policy: Policy, pairs: readonly TokenPair[]): Router {
  const { arm, seed, output } = config;
  if (arm.kind === 'oracle') {
    throw new UserError({
      call: 'arm oracle',
      expected: 'labels',
      found: 'none',
      fix: 'Build it with the oracle router.',
    });
  }
  if (!isGateArm(arm)) return absorbRouter();
  const { adapter } = policy;
  const gate = new Gate(gateSettings(arm), haarDirection(adapter.modules.length, adapter.rank, seed));
  const rebuild = (current: Policy) =>
    rebuildDirection(current, pairs, gate, {
      kind: arm.kind,
      standardise: arm.standardise,
      placebo: arm.placebo === 'haar',
      tokensPerPass: output.tokensPerPass,
    });
  const router = gateRouter({
    gate,
    kind: arm.kind,
    granularity: arm.granularity,
    rebuild,
    refreshEvery: arm.refreshEvery === 0 ? null : arm.refreshEvery,
  });
  return arm.placebo === 'mass-matched' ? massMatchedRouter(router, seed) : router;
}
