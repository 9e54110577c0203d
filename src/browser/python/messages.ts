/** What the page's grader and a process of Python in a worker say to each other. What the process reads comes through shared memory, as it waits there. */

export interface OpenPython {
  /** The folder of Pyodide's files. */
  readonly pyodide: string;
  /** The sandbox's harness, file by file. */
  readonly harness: Readonly<Record<string, string>>;
  /** In `shared[0]` how many bytes lie in `inputs`; 0 when they were taken. */
  readonly shared: Int32Array<SharedArrayBuffer>;
  readonly inputs: Uint8Array<SharedArrayBuffer>;
}

export type FromPython =
  /** It is there, and waits for a program. */
  | { readonly kind: 'ready' }
  /** It has taken what lay in `inputs`. */
  | { readonly kind: 'taken' }
  | { readonly kind: 'records' | 'printed'; readonly bytes: Uint8Array }
  /** The records that are lost if it ends now: they count all the same. */
  | { readonly kind: 'held'; readonly bytes: Uint8Array }
  /** The files of its folder, each time that one was written. */
  | { readonly kind: 'files'; readonly files: readonly (readonly [name: string, content: Uint8Array])[] }
  | { readonly kind: 'ended'; readonly exit: number }
  | { readonly kind: 'failed'; readonly message: string };
