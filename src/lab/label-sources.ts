/**
 * By what ways labels reach training: what an arm is given, what labels chose, and what the run inherits from its base model, from a
 * judge's model and from the run that it was forked from. Results never pool a run that any of them reached with others.
 */
import { labelMarkOf } from '../model/index.ts';
import { hasTeacher, type Manifest, type RunConfig, RunDirectory } from '../run/index.ts';
import { modelDirectory } from './model.ts';
import { armOf, type Parts } from './parts.ts';

/** Each way in words; none for a run without labels. */
export async function labelSources(
  config: RunConfig,
  parts: Pick<Parts, 'arms'>,
  { pairsUseLabels }: { readonly pairsUseLabels: boolean },
  parent: Manifest['parent'] = null,
): Promise<string[]> {
  const { kind: _kind, ...settings } = config.arm;
  const arm = armOf(config, parts);
  const models = [config.model, ...arm.models(settings).filter((name) => name !== 'base')];
  const inherited = await Promise.all(models.map(inheritedWords));
  return [
    ...(arm.usesLabels(settings) ? [`the arm ${config.arm.kind} is given them`] : []),
    ...(hasTeacher(config) ? ['they chose the demonstrations'] : []),
    ...(pairsUseLabels ? ['they chose pairs'] : []),
    ...(config.notes.thresholds === 'labels' ? ['they chose thresholds (notes.thresholds)'] : []),
    ...inherited.flat(),
    ...(parent !== null && RunDirectory.open(parent.run).readManifest().usesOracle
      ? [`the run ${parent.run}, which it was forked from, used them`]
      : []),
  ];
}

async function inheritedWords(model: string): Promise<string[]> {
  const mark = await labelMarkOf(modelDirectory(model));
  if (mark === 'none') return [];
  const how = mark === 'used' ? 'was trained with them' : 'is an export that does not know how its adapter was trained';
  return [`the model ${model} ${how}`];
}
