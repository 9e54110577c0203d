/**
 * Says beside the declaration of a setting when it is read: `z.number().default(0.05).meta(readWhen({ cut: 'fpr' }))`. One that somebody
 * sets although nothing reads it would change nothing without a word, so configs refuse it. The rule is plain data in zod's registry.
 */

type Value = string | number | boolean | null;

/**
 * Values that settings must have, all of them: of the same table by their names, of other tables by their paths (`arm.kind`). The name
 * `uses` stands for what the parts that a config names make use of.
 */
export type Condition = Readonly<Record<string, Value | readonly Value[] | { readonly not: Value | readonly Value[] }>>;

/** The setting is read where one of the conditions holds. */
export function readWhen(...conditions: readonly Condition[]): { readonly readWhen: readonly Condition[] } {
  return { readWhen: conditions };
}
