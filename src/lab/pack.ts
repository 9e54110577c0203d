/**
 * Runs in one process that share what they can (docs/adr/0012-packed-runs.md): runs whose configs name the same model, problems, sandbox
 * and device have one lab that holds them, and each run opens a lab of its own on top, with a lane. What a run alone would be told of
 * shared parts, each of them is told.
 */
import { canonicalJson } from '../base/canonical-json.ts';
import { type Lane, Pack, type PolicyWork } from '../grpo/index.ts';
import { isInterpreted, type Manifest, type Notice, type RunConfig } from '../run/index.ts';
import { computesTogether } from './device.ts';
import { beganApart } from './manifest.ts';
import { checkRank } from './model.ts';
import { type GivenParts, type Lab, openLab } from './open.ts';
import type { Warn } from './open-parts.ts';

/** A run's place in a pack. Who has it must leave it at the end, however that comes: the other runs wait for it. */
export interface PackPlace extends Disposable {
  /**
   * The shared parts of a config, each opened when it is asked for; `warn` is told what a run alone would have been. `begun`: the manifest of a
   * run that goes on.
   */
  given(config: RunConfig, warn: Warn, begun: Manifest | null): Promise<GivenParts>;
  readonly work: PolicyWork;
}

interface RunPackOptions {
  /** Whether runs compute in one batch; default: as the device says. */
  readonly joint?: boolean | null;
  /** The memory in MiB that its device must have, or nothing is trained; default: whatever there is. */
  readonly neededMiB?: number | null;
}

export class RunPack implements AsyncDisposable {
  readonly #hosts = new Map<string, Host>();
  readonly #options: RunPackOptions;
  #closed = false;

  constructor(options: RunPackOptions = {}) {
    this.#options = options;
  }

  join(): PackPlace {
    const lanes = new Map<Pack, Lane>();
    let current: Promise<Lane> | null = null;
    const laneIn = async (host: Host): Promise<Lane> => {
      const pack = await host.pack;
      const lane = lanes.get(pack) ?? pack.join();
      lanes.set(pack, lane);
      return lane;
    };
    const laneNow = (): Promise<Lane> => current ?? Promise.reject(new RangeError('a run that has opened nothing yet'));
    return {
      given: async (config, warn, begun) => {
        const host = await this.#hostOf(config, begun);
        current = laneIn(host);
        current.catch(() => undefined);
        return host.partsFor(config, warn);
      },
      work: {
        generate: async (work) => (await laneNow()).generate(work),
        pass: async (work) => (await laneNow()).pass(work),
      },
      [Symbol.dispose]: () => {
        for (const lane of lanes.values()) lane[Symbol.dispose]();
      },
    };
  }

  /** A run that began alone on a GPU goes on so, beside runs that compute together: they have another device. */
  async #hostOf(config: RunConfig, begun: Manifest | null): Promise<Host> {
    const host = this.#openHost(config, false);
    if (begun === null || !beganApart(begun) || !(await host.computesTogether)) return host;
    return this.#openHost(config, true);
  }

  #openHost(config: RunConfig, apart: boolean): Host {
    if (this.#closed) throw new RangeError('a pack that is closed opens nothing for a run');
    const key = `${sharedKey(config)} ${apart}`;
    const host = this.#hosts.get(key) ?? new Host(config, this.#options, apart);
    this.#hosts.set(key, host);
    return host;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const host of this.#hosts.values()) await host[Symbol.asyncDispose]();
  }
}

/** What runs must have in common to share a model, problems and a judge. */
export function sharedKey(config: RunConfig): string {
  const { model, data, plugins, device, environment, sampling } = config;
  const { python, sandbox, enableThinking } = environment;
  const context = sampling.maxPromptTokens + sampling.maxNewTokens;
  return canonicalJson([model, enableThinking, data, plugins, device, python, sandbox, isInterpreted(config), context]);
}

class Host implements AsyncDisposable {
  readonly #lab: Promise<Lab>;
  readonly #notices: Notice[] = [];
  readonly #joint: boolean | null;
  #pack: Promise<Pack> | undefined;

  constructor(config: RunConfig, { joint = null, neededMiB = null }: RunPackOptions, apart: boolean) {
    this.#joint = joint;
    const warn: Warn = (notice) => void this.#notices.push(notice);
    this.#lab = openLab({ config }, { work: 'unplanned', neededMiB, apart, warn });
    this.#lab.catch(() => undefined);
  }

  get computesTogether(): Promise<boolean> {
    return this.#lab.then(computesTogether);
  }

  get pack(): Promise<Pack> {
    this.#pack ??= this.#lab.then(
      async (lab) => new Pack({ joint: this.#joint ?? (await lab.device).lanes !== undefined }),
    );
    return this.#pack;
  }

  partsFor(config: RunConfig, warn: Warn): GivenParts {
    const lab = this.#lab;
    const notices = this.#notices;
    return {
      get model() {
        return lab.then(async ({ model }) => {
          const files = await model;
          checkRank(config, files.folder.config);
          return files;
        });
      },
      get judge() {
        return lab.then(({ judge }) => judge);
      },
      get problems() {
        return lab.then(async (own) => {
          const problems = await own.problems;
          for (const notice of notices) await warn(notice);
          return problems;
        });
      },
      get device() {
        return lab.then(({ device }) => device);
      },
      get weights() {
        return lab.then(({ weights }) => weights);
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const lab = await this.#lab.catch(() => null);
    await lab?.[Symbol.asyncDispose]();
  }
}
