/**
 * An experiment as an Indexed Job of Kubernetes, one pod for each run, with the exit codes of gq as its policy: a run that was
 * interrupted or evicted begins again and costs no attempt, a refused one is not tried again, a failed one is tried a few times.
 */
import { exitCodes, UserError } from '../base/index.ts';

export interface KubernetesOptions {
  readonly name: string;
  /** Runs of the plan: a pod that finds its run complete ends at once. */
  readonly runs: number;
  /** Most pods at a time; null: all. */
  readonly jobs: number | null;
  readonly image: string;
  /** Claim on the volume that holds the experiment's directory, mounted at the same path. */
  readonly claim: string;
  readonly directory: string;
  readonly planPath: string;
  readonly gpus: number | null;
  readonly cpus: number | null;
  readonly memory: string | null;
}

/** Attempts of a run that fails. */
const mostFailures = 2;
/** Seconds between the request to stop and the kill: longer than one update takes. */
const graceSeconds = 300;
/** So long gq itself waits for the end of an update; it would else give up after seconds. A little is left for the saving. */
const updateSeconds = graceSeconds - 30;

/** Slurm counts K, M, G and T in powers of 1024, and a bare number in M; Kubernetes calls that Ki, Mi, Gi and Ti. */
function quantityOf(memory: string): string {
  const [, number, unit] = /^(\d+)([KMGT]?)B?$/i.exec(memory) ?? [];
  if (number !== undefined) return `${number}${(unit ?? '').toUpperCase() || 'M'}i`;
  throw new UserError({ call: '--memory', expected: 'an amount such as 32G', found: memory });
}

/** Pods of an Indexed Job are hosts of the name JOB-INDEX, and a host's name has at most 63 characters. */
function jobName({ name, runs }: KubernetesOptions): string {
  const room = 63 - `-${runs - 1}`.length;
  return `gq-${name}`.slice(0, room).replace(/-+$/, '');
}

/** Kubernetes forbids a colon in the path of a mount. */
function mountPath(directory: string): string {
  if (!directory.includes(':')) return directory;
  const expected = 'a directory without a colon in its path, where Kubernetes can mount a volume';
  throw new UserError({ call: '--print k8s', expected, found: directory, fix: 'Name another one with --out.' });
}

/** Claims have names that the domain name system allows. */
function claimName(claim: string): string {
  if (claim.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(claim))
    return claim;
  const expected = 'the name of a PersistentVolumeClaim: small letters, digits, hyphens and dots';
  throw new UserError({ call: '--claim', expected, found: claim });
}

function imageName(image: string): string {
  if (/^\S+$/.test(image)) return image;
  throw new UserError({ call: '--image', expected: 'the name of an image, without spaces', found: image });
}

function limitsOf({ gpus, cpus, memory }: KubernetesOptions): Record<string, string> {
  return {
    ...(gpus === null ? {} : { 'nvidia.com/gpu': `${gpus}` }),
    ...(cpus === null ? {} : { cpu: `${cpus}` }),
    ...(memory === null ? {} : { memory: quantityOf(memory) }),
  };
}

function podSpec(options: KubernetesOptions): object {
  const { image, claim, directory, planPath, cpus } = options;
  return {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: graceSeconds,
    containers: [
      {
        name: 'gq',
        image: imageName(image),
        // The path is an argument, so no shell obeys anything in it; Kubernetes replaces $(NAME), and $$ by $. exec lets signals reach gq.
        command: ['sh', '-c', 'exec gq task "$0" "$JOB_COMPLETION_INDEX"', planPath.replaceAll('$', '$$$$')],
        env: [
          { name: 'GQ_GRACE', value: `${updateSeconds}` },
          ...(cpus === null ? [] : [{ name: 'GQ_CORES', value: `${cpus}` }]),
        ],
        resources: { limits: limitsOf(options) },
        volumeMounts: [{ name: 'experiment', mountPath: mountPath(directory) }],
      },
    ],
    volumes: [{ name: 'experiment', persistentVolumeClaim: { claimName: claimName(claim) } }],
  };
}

export function kubernetesJob(options: KubernetesOptions): object {
  const onCode = (code: number) => ({ containerName: 'gq', operator: 'In', values: [code] });
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: jobName(options) },
    spec: {
      completionMode: 'Indexed',
      completions: options.runs,
      parallelism: Math.min(options.jobs ?? options.runs, options.runs),
      backoffLimitPerIndex: mostFailures,
      podFailurePolicy: {
        rules: [
          { action: 'FailIndex', onExitCodes: onCode(exitCodes.refused) },
          { action: 'Ignore', onExitCodes: onCode(exitCodes.interrupted) },
          { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
        ],
      },
      template: { spec: podSpec(options) },
    },
  };
}
