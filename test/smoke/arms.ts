/** Every arm as settings of a short run on the tiny lab. */
const gate = ['arm.warmupRows=4', 'arm.tail=0.2', 'arm.refreshEvery=2'];

export const blindArms: Readonly<Record<string, readonly string[]>> = {
  vanilla: ['arm.kind=vanilla'],
  absorb: ['arm.kind=absorb'],
  activation: ['arm.kind=activation', ...gate],
  gradient: ['arm.kind=gradient', ...gate],
  'gradient, generated pairs': [
    'arm.kind=gradient',
    'arm.generatedPairs=true',
    'pairs.generated=32',
    'pairs.leastGenerated=1',
    'environment.loopholes=["exit_code"]',
    ...gate,
  ],
  'haar of activation': ['arm.kind=activation', 'arm.placebo=haar', ...gate],
  'haar of gradient': ['arm.kind=gradient', 'arm.placebo=haar', ...gate],
  'mass-matched': ['arm.kind=activation', 'arm.placebo=mass-matched', ...gate],
  'no-loophole': ['arm.kind=no-loophole'],
};

export const oracleArm = ['arm.kind=oracle', 'arm.recall=0.9', 'arm.falsePositiveRate=0.2'];

const activation = ['arm.kind=activation', ...gate];
const gradient = ['arm.kind=gradient', ...gate];

/** Settings that change an update, by name. */
export const configValues: Readonly<Record<string, readonly string[]>> = {
  'calibration pairs': [...activation, 'arm.calibration=pairs'],
  'calibration pairs, gradient': [...gradient, 'arm.calibration=pairs'],
  'token granularity': [...activation, 'arm.granularity=token'],
  'token granularity, gradient': [...gradient, 'arm.granularity=token'],
  'token granularity, KL apart': [...activation, 'arm.granularity=token', 'loss.klRoute=absorb'],
  'token granularity, pair cuts': [...gradient, 'arm.granularity=token', 'arm.calibration=pairs', 'arm.bufferTokens=4'],
  'calibration mixture, one cut': [...activation, 'arm.calibration=mixture', 'arm.keepTail=1'],
  'calibration otsu, praised': [...activation, 'arm.calibration=otsu', 'arm.keepOnly=praised', 'arm.keepTail=0.3'],
  'orthogonal to solve': [...gradient, 'arm.orthogonalTo=solve'],
  'score cosine': [...activation, 'arm.score=cosine'],
  'direction built once': [...activation, 'arm.refreshEvery=0'],
  'no half-life, a short buffer': [...activation, 'arm.halfLife=0', 'arm.bufferRows=8'],
  'standardised direction': [...activation, 'arm.standardise=true'],
  'detach by parameter': [...activation, 'loss.detach=parameter'],
  'KL of routed rollouts apart': [...activation, 'loss.klRoute=absorb', 'loss.klWeight=0.1'],
  'classic GRPO': [...activation, 'loss.kind=classic'],
  'classic GRPO, floored deviation': [...activation, 'loss.kind=classic', 'loss.deviationFloor=2'],
  'two epochs': [...activation, 'loss.epochs=2'],
  'small passes': [...activation, 'compute.tokensPerPass=64', 'compute.readEvery=3'],
  'nothing stored': [...activation, 'output.storeFeatures=false', 'output.storeTokens=false'],
  'oracle keeps the others': ['arm.kind=oracle', 'arm.others=keep', 'arm.falsePositiveRate=0.3'],
  'retain-heal': [...activation, 'safety.healSteps=2', 'safety.healLearningRate=1e-3'],
  pissa: [...activation, 'adapter.family=pissa'],
  'lora with a frozen B': [...activation, 'adapter.family=lora-frozen-b'],
  scorda: ['arm.kind=absorb', 'adapter.family=scorda'],
  antipasto: [...activation, 'adapter.family=antipasto'],
  'scorda reversed': ['arm.kind=absorb', 'adapter.family=scorda-reversed'],
  corda: [...activation, 'adapter.family=corda'],
  'family markers, two loopholes': [
    ...activation,
    'environment.markers=family',
    'environment.loopholes=["sentinel", "run_tests"]',
  ],
};
