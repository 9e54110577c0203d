/** What people call keys of the config, as other trainers do, by the key that is meant. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  seed: ['seed', 'random seed'],
  updates: ['updates', 'steps', 'iterations', 'iters', 'max steps', 'num steps', 'training steps'],
  model: ['base model', 'model path', 'model name'],
  'optimiser.learningRate': ['lr', 'learning rate', 'step size'],
  'optimiser.warmupUpdates': ['warmup', 'warmup steps', 'warmup updates'],
  'optimiser.schedule': ['scheduler', 'lr scheduler', 'lr schedule', 'schedule'],
  'optimiser.maxGradientNorm': ['max grad norm', 'grad clip', 'clip grad', 'grad norm', 'gradient clipping'],
  'optimiser.decayToInitial': ['weight decay', 'wd'],
  'sampling.group': ['group', 'group size', 'generations', 'num generations', 'rollouts', 'rollouts per prompt'],
  'sampling.promptsPerStep': ['batch', 'batch size', 'prompts', 'prompts per step'],
  'sampling.temperature': ['temperature', 'temp'],
  'sampling.maxNewTokens': ['max tokens', 'max new tokens', 'max length', 'max completion length'],
  'loss.klWeight': ['kl', 'kl weight', 'kl coef', 'kl penalty', 'kl beta'],
  'loss.clip': ['clip', 'clip range', 'clip ratio'],
  'loss.epochs': ['epochs', 'num epochs', 'ppo epochs'],
  'adapter.rank': ['rank', 'lora rank', 'lora r'],
  'adapter.targets': ['targets', 'target modules'],
  'device.threads': ['threads', 'cores', 'num threads'],
  'device.precision': ['dtype', 'precision'],
  'data.path': ['dataset', 'train file', 'train data'],
  'data.testPath': ['test file', 'test data'],
  'environment.loopholes': ['loophole', 'loopholes', 'hints', 'hint'],
  'pairs.file': ['pairs file'],
  'output.checkpointEvery': ['checkpoint every', 'save every', 'save steps'],
};

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');
const keys = new Map(Object.entries(otherNames).flatMap(([key, names]) => names.map((name) => [plain(name), key])));

export const namedKeys: readonly string[] = Object.keys(otherNames);

/** The key that a name stands for, whatever its case and the signs between its words. */
export const keyCalled = (name: string): string | undefined => keys.get(plain(name));
