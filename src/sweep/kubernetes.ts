/**
 * An experiment as an Indexed Job of Kubernetes, one pod for each run, with the exit codes of gq as its policy: a run that was
 * interrupted or evicted begins again and costs no attempt, a refused one is not tried again, a failed one is tried a few times.
 */
import { exitCodes } from '../base/index.ts';

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

function limitsOf({ gpus, cpus, memory }: KubernetesOptions): Record<string, string> {
  return {
    ...(gpus === null ? {} : { 'nvidia.com/gpu': `${gpus}` }),
    ...(cpus === null ? {} : { cpu: `${cpus}` }),
    ...(memory === null ? {} : { memory }),
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
        image,
        // The path is an argument, so nothing in it is obeyed; exec lets signals reach gq itself.
        command: ['sh', '-c', 'exec gq task "$0" "$JOB_COMPLETION_INDEX"', planPath],
        ...(cpus === null ? {} : { env: [{ name: 'GQ_CORES', value: `${cpus}` }] }),
        resources: { limits: limitsOf(options) },
        volumeMounts: [{ name: 'experiment', mountPath: directory }],
      },
    ],
    volumes: [{ name: 'experiment', persistentVolumeClaim: { claimName: claim } }],
  };
}

export function kubernetesJob(options: KubernetesOptions): object {
  const onCode = (code: number) => ({ containerName: 'gq', operator: 'In', values: [code] });
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: `gq-${options.name}` },
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
