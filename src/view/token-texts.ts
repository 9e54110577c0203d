/** The texts of the tokens that the rollouts of a run are made of, from the tokenizer of its model. */
import type { ModelTokenizer } from '../model/index.ts';
import type { JudgedTable } from '../oracle/index.ts';
import type { RunDirectory } from '../run/index.ts';
import type { TokenTexts } from './api.ts';

/** Without stored tokens, or where the model is not there any more, there are no texts. */
export async function tokenTexts(run: RunDirectory, table: JudgedTable): Promise<TokenTexts> {
  const ids = new Set((await table.rows(['tokenIds'])).flatMap(({ tokenIds }) => tokenIds ?? []));
  if (ids.size === 0) return {};
  // Only whoever looks at tokens waits for a tokenizer.
  const [lab, model] = await Promise.all([import('../lab/model.ts'), import('../model/index.ts')]);
  try {
    const tokenizer = await model.ModelTokenizer.open(lab.modelDirectory(run.readManifest().config.model));
    return Object.fromEntries([...ids].map((id) => [id, textOf(tokenizer, id)]));
  } catch {
    return {};
  }
}

/** A token that is a part of a character has no text of its own: it is named as the vocabulary names it. */
function textOf(tokenizer: ModelTokenizer, id: number): string {
  const text = tokenizer.decode([id]);
  return text === '' || text.includes('\ufffd') ? (tokenizer.token(id) ?? '') : text;
}
