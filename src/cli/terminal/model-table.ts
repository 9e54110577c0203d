/** A model description as lines for a person. */
import type { ModelDescription } from '../../model/index.ts';

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

function shapeText({ config }: ModelDescription): string {
  const { layers, hiddenSize, heads, kvHeads, headDim, intermediateSize, tieEmbeddings, vocabSize } = config;
  const head = tieEmbeddings ? 'tied' : 'own';
  return [
    `${layers} layers`,
    `hidden ${hiddenSize}`,
    `${heads} heads over ${kvHeads} key/value heads of ${headDim}`,
    `MLP ${intermediateSize}`,
    `vocabulary ${vocabSize}, ${head} head`,
  ].join(', ');
}

export function renderModel(model: ModelDescription): string {
  const { config, memory } = model;
  const dtypes = Object.entries(model.dtypes).map(([dtype, count]) => `${dtype} × ${count}`);
  const scaling = config.rope.scaling.kind === 'none' ? '' : `, ${config.rope.scaling.kind} scaling`;
  const text = model.tokenizerSize === null ? 'none' : `${model.tokenizerSize} tokens`;
  const rows: [string, string][] = [
    ['model', model.directory],
    ['architecture', model.architecture],
    ['shape', shapeText(model)],
    ['positions', `${config.maxPositions}, rope θ ${config.rope.theta}${scaling}`],
    ['parameters', model.parameters.toLocaleString('en')],
    ['weights', `${dtypes.join(', ')}; ${formatBytes(model.diskBytes)} in ${model.files} file(s)`],
    ['tokenizer', `${text}, ${model.chatTemplate ? 'with' : 'without'} chat template`],
    ['stop tokens', model.stopTokenIds.length === 0 ? 'none named' : model.stopTokenIds.join(', ')],
  ];
  if (model.unreadKeys.length > 0) rows.push(['without effect', model.unreadKeys.join(', ')]);
  for (const { device, formula, weightBytes, cacheBytesPerToken } of memory) {
    const weights = `${formatBytes(weightBytes)} of weights (${formula})`;
    rows.push([`memory, ${device}`, `${weights}, ${formatBytes(cacheBytesPerToken)} for each cached token`]);
  }
  rows.push([
    '',
    'P parameters, M of them in matrices that are multiplied; cache = 2 · layers · key/value heads · head size',
  ]);
  const width = Math.max(...rows.map(([name]) => name.length));
  return `${rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')}\n`;
}
