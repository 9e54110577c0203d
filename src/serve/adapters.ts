/** Adapters that clients have loaded, in PEFT's form, from one folder of the server's: each is a model by its name, until it is unloaded. */
import { existsSync, realpathSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { z } from 'zod';
import { openPeft } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import { Scope } from '../engine/index.ts';
import { projectRows } from '../grpo/index.ts';
import type { Decoder, RowAdapter } from '../model/index.ts';
import type { ServedState } from './policy.ts';
import { RequestProblem } from './requests.ts';

const stateNames: Readonly<Record<ServedState, true>> = { deployed: true, trained: true, base: true };
const nameSchema = z.string().min(1).max(256);
const loadSchema = z.object({ lora_name: nameSchema, lora_path: z.string().min(1).max(4096) });
const unloadSchema = z.object({ lora_name: nameSchema });

interface Loaded {
  readonly adapter: RowAdapter;
  readonly scope: Scope;
  users: number;
}

export class LoadedAdapters {
  readonly #decoder: Decoder;
  readonly #folder: string;
  readonly #most: number;
  readonly #loaded = new Map<string, Loaded>();
  /** Names whose adapters are being read; each has its place already. */
  readonly #loading = new Set<string>();
  #count = 0;

  constructor(decoder: Decoder, folder: string, most = 8) {
    if (!existsSync(folder)) throw new UserError({ call: '--adapters', expected: 'a folder', found: folder });
    this.#decoder = decoder;
    this.#folder = realpathSync(folder);
    this.#most = most;
  }

  get names(): string[] {
    return [...this.#loaded.keys()];
  }

  /** The adapter of this name, which stays until the answer is disposed of. */
  use(name: string): (Disposable & { readonly adapter: RowAdapter }) | null {
    const found = this.#loaded.get(name);
    if (found === undefined) return null;
    found.users++;
    return { adapter: found.adapter, [Symbol.dispose]: () => this.#release(found) };
  }

  async load(body: unknown): Promise<string> {
    const { lora_name: name, lora_path: path } = parse(loadSchema, body, 'lora_name and lora_path');
    if (Object.hasOwn(stateNames, name))
      throw new RequestProblem(400, `${name} is a state of the policy: choose another name.`, 'lora_name');
    const taken = this.#loaded.has(name) || this.#loading.has(name);
    const full = this.#loaded.size + this.#loading.size >= this.#most;
    if (taken) throw new RequestProblem(400, `the adapter ${name} is loaded already.`, 'lora_name');
    if (full) throw new RequestProblem(400, `${this.#most} adapters are loaded already: unload one.`, 'lora_name');
    const scope = new Scope(this.#decoder.head.device);
    this.#loading.add(name);
    try {
      const policy = {
        decoder: this.#decoder,
        adapter: await openPeft(scope, this.#decoder.config, this.#inside(path)),
      };
      // Two that are loaded under one name after another never share a pass.
      const adapter = { name: `${name} ${this.#count++}`, project: projectRows({ ...policy, deployedScale: 0 }) };
      this.#loaded.set(name, { adapter, scope, users: 1 });
    } catch (error) {
      scope[Symbol.dispose]();
      // What is wrong with a file of this machine is not told to clients.
      throw error instanceof RequestProblem
        ? error
        : new RequestProblem(400, 'no adapter of this model is there.', 'lora_path');
    } finally {
      this.#loading.delete(name);
    }
    return `Success: LoRA adapter '${name}' added successfully.`;
  }

  unload(body: unknown): string {
    const { lora_name: name } = parse(unloadSchema, body, 'lora_name');
    const found = this.#loaded.get(name);
    if (found === undefined) throw new RequestProblem(404, `no adapter ${name} is loaded.`, 'lora_name');
    this.#loaded.delete(name);
    this.#release(found);
    return `Success: LoRA adapter '${name}' removed successfully.`;
  }

  #release(loaded: Loaded): void {
    loaded.users--;
    if (loaded.users === 0) loaded.scope[Symbol.dispose]();
  }

  #inside(path: string): string {
    const files = ['adapter_config.json', 'adapter_model.safetensors'].map((file) => join(path, file));
    // The folder, and the files too: each may be a link to elsewhere.
    const isInside = (found: string): boolean => {
      const way = relative(this.#folder, realpathSync(found));
      return way !== '' && way !== '..' && !way.startsWith(`..${sep}`);
    };
    if (files.every(existsSync) && [path, ...files].every(isInside)) return realpathSync(path);
    throw new RequestProblem(
      400,
      'lora_path: expected an adapter in the folder that this server loads from.',
      'lora_path',
    );
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, body: unknown, keys: string): z.output<Schema> {
  const { data } = schema.safeParse(body);
  if (data !== undefined) return data;
  throw new RequestProblem(400, `expected ${keys}.`, keys.split(' ')[0]);
}
