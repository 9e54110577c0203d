/** How well the direction from a fresh adapter's features separates the two sides of pairs: on the pairs themselves, and with each left out. */
import { createAdapter, findStart, pairInputDifferences, targetModules } from '../adapters/index.ts';
import { Scope } from '../engine/index.ts';
import { folderPairEncoder, loadPairs, tokenizePairs } from '../env/pairs/index.ts';
import { judgeDirection, pairDirection, scoreFeatures } from '../gates/index.ts';
import { leaveOneOut, pairFeatures } from '../grpo/index.ts';
import { Decoder, loadWeights, ModelFolder } from '../model/index.ts';
import { openDevice } from './device.ts';
import { modelArgument } from './model.ts';

const tokensPerPass = 8192;

interface ScoreSettings {
  readonly model: string;
  readonly file: string;
  readonly select: readonly string[];
  readonly family: string;
  readonly rank: number;
  readonly seed: number;
  readonly kind: 'activation' | 'gradient';
  readonly score: 'dot' | 'cosine';
  readonly standardise: boolean;
  readonly device: string;
}

export interface PairScores {
  readonly model: string;
  readonly file: string;
  readonly hash: string;
  readonly settings: Readonly<Record<string, string | number | boolean>>;
  readonly hackScores: readonly number[];
  readonly cleanScores: readonly number[];
  readonly wrongPairs: readonly string[];
  /** Pairs that the direction of the others ranks wrongly; null if there is only one pair. */
  readonly wrongWhenLeftOut: readonly string[] | null;
}

export async function scorePairs(settings: ScoreSettings): Promise<PairScores> {
  const { model, file, rank, seed, kind, score, standardise } = settings;
  const { name: family, needsPairs } = findStart(settings.family);
  const { pairs, hash, file: path } = await loadPairs(file, settings.select);
  await using folder = await ModelFolder.open(modelArgument(model));
  const tokenized = tokenizePairs(pairs, folderPairEncoder(folder));
  using device = await openDevice(settings.device);
  using scope = new Scope(device);
  const decoder = await Decoder.load(
    scope,
    folder.config,
    loadWeights(folder.weights, folder.config, { as: 'float32' }),
  );
  const differences = needsPairs
    ? { differences: await pairInputDifferences(decoder, targetModules(folder.config), tokenized) }
    : {};
  const adapter = await createAdapter(scope, decoder, { family, rank, seed, ...differences });
  const features = await pairFeatures({ decoder, adapter, deployedScale: 0 }, tokenized, { kind, tokensPerPass });
  const direction = pairDirection(features.hack, features.clean, { standardise });
  const hackScores = scoreFeatures(features.hack, direction, score);
  const cleanScores = scoreFeatures(features.clean, direction, score);
  const heading = (index: number): string => pairs[index].heading;
  const { wrongPairs } = judgeDirection(hackScores, cleanScores);
  const left = pairs.length < 2 ? null : leaveOneOut(features, { standardise, score });
  return {
    model,
    file: path,
    hash,
    settings: { family, rank, seed, kind, score, standardise },
    hackScores: Array.from(hackScores),
    cleanScores: Array.from(cleanScores),
    wrongPairs: wrongPairs.map(heading),
    wrongWhenLeftOut: left === null ? null : left.wrongPairs.map(heading),
  };
}
