/** Every arm as settings of a short run on the tiny lab. */
const gate = ['arm.warmupRows=4', 'arm.tail=0.2', 'arm.refreshEvery=2'];

export const blindArms: Readonly<Record<string, readonly string[]>> = {
  vanilla: ['arm.kind=vanilla'],
  absorb: ['arm.kind=absorb'],
  activation: ['arm.kind=activation', ...gate],
  gradient: ['arm.kind=gradient', ...gate],
  'gradient, generated pairs': ['arm.kind=gradient', 'arm.generatedPairs=true', 'pairs.generated=4', ...gate],
  'haar of activation': ['arm.kind=activation', 'arm.placebo=haar', ...gate],
  'haar of gradient': ['arm.kind=gradient', 'arm.placebo=haar', ...gate],
  'mass-matched': ['arm.kind=activation', 'arm.placebo=mass-matched', ...gate],
  'no-loophole': ['arm.kind=no-loophole'],
};

export const oracleArm = ['arm.kind=oracle', 'arm.recall=0.9', 'arm.falsePositiveRate=0.2'];
