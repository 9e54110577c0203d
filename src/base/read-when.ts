/**
 * What the declaration of a setting says beside its values, as plain data in zod's registry: when it is read, and that it names a file.
 *
 * When it is read: `z.number().default(0.05).meta(readWhen({ cut: 'fpr' }))`. One that somebody
 * sets although nothing reads it would change nothing without a word, so configs refuse it.
 */

type Value = string | number | boolean | null;

/** `below`: a number that is less than that of the key with this path, by at least `by`. */
type Wanted =
  | Value
  | readonly Value[]
  | { readonly not: Value | readonly Value[] }
  | { readonly below: string; readonly by: number };

/**
 * Values that settings must have, all of them: of the same table by their names, of other tables by their paths (`arm.kind`). The name
 * `uses` stands for what the parts that a config names make use of.
 */
export type Condition = Readonly<Record<string, Wanted>>;

/** The setting is read where one of the conditions holds. */
export function readWhen(...conditions: readonly Condition[]): { readonly readWhen: readonly Condition[] } {
  return { readWhen: conditions };
}

/** How a setting names a file or a folder. */
export interface NamedPath {
  /** Values that are names and no paths. */
  readonly unless?: RegExp;
  /** Whether it names a model: what has the form of a name on the hub is one, unless a folder has that path. */
  readonly isModel?: boolean;
}

/** The setting is a path: a relative one begins in the folder of the recipe that says it, or in the working folder. */
export function namesPath(how: NamedPath = {}): { readonly namesPath: NamedPath } {
  return { namesPath: how };
}
