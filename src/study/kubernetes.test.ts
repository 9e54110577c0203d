import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { kubernetesJob } from './kubernetes.ts';

/**
 * The types of batch/v1 Job that a manifest of gq is made of, after api/openapi-spec/v3/apis__batch__v1_openapi.json: every key that is
 * a text, a number or yes and no, keys that are required, and the limits that descriptions and names there state. Keys whose values are
 * other types that gq never writes (probes, security contexts, affinities, other volumes) are left out, so writing one fails here.
 */
const integer = (most: number) => z.number().int().min(-most).max(most);
const int32 = integer(2 ** 31 - 1);
const int64 = integer(Number.MAX_SAFE_INTEGER);
const text = z.string().optional();
const flag = z.boolean().optional();
const dnsLabel = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
const dnsSubdomain = z.string().max(253).regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/); // biome-ignore format: one line
const quantity = z.string().regex(/^[+-]?(\d+\.?\d*|\.\d+)([KMGTPE]i|[mkMGTPE]|[eE][+-]?\d+)?$/);
const isOrdered = (values: readonly number[]): boolean => values.every((value, i) => i === 0 || value > values[i - 1]);
const areDifferent = (values: readonly unknown[]): boolean => new Set(values).size === values.length;

const mount = z.strictObject({
  name: dnsLabel,
  mountPath: z.string().regex(/^[^:]+$/),
  mountPropagation: z.enum(['None', 'HostToContainer', 'Bidirectional']).optional(),
  readOnly: flag,
  recursiveReadOnly: z.enum(['Disabled', 'IfPossible', 'Enabled']).optional(),
  subPath: text,
  subPathExpr: text,
});
/** GPUs and other extended resources, whose names have a slash, are whole numbers. */
const quantities = z
  .record(z.string(), quantity)
  .refine((all) => Object.entries(all).every(([name, value]) => !name.includes('/') || /^\d+$/.test(value)));
const container = z.strictObject({
  name: dnsLabel,
  image: z.string().regex(/^\S+$/).optional(),
  imagePullPolicy: z.enum(['Always', 'Never', 'IfNotPresent']).optional(),
  command: z.array(z.string()).optional(),
  args: z.array(z.string()).optional(),
  workingDir: text,
  env: z
    .array(z.strictObject({ name: z.string().regex(/^[A-Za-z_]\w*$/), value: text }))
    .refine((all) => areDifferent(all.map(({ name }) => name)))
    .optional(),
  resources: z.strictObject({ limits: quantities.optional(), requests: quantities.optional() }).optional(),
  volumeMounts: z
    .array(mount)
    .refine((all) => areDifferent(all.map(({ mountPath }) => mountPath)))
    .optional(),
  stdin: flag,
  stdinOnce: flag,
  terminationMessagePath: text,
  terminationMessagePolicy: z.enum(['File', 'FallbackToLogsOnError']).optional(),
  tty: flag,
});
const volume = z.strictObject({
  name: dnsLabel,
  persistentVolumeClaim: z.strictObject({ claimName: dnsSubdomain, readOnly: flag }),
});
const podSpec = z
  .strictObject({
    containers: z.array(container).min(1).refine((all) => areDifferent(all.map(({ name }) => name))), // biome-ignore format: one line
    volumes: z.array(volume).refine((all) => areDifferent(all.map(({ name }) => name))).optional(), // biome-ignore format: one line
    // Jobs allow Never and OnFailure, and a policy of failures needs pods that are never restarted in place.
    restartPolicy: z.literal('Never'),
    activeDeadlineSeconds: int64.min(1).optional(),
    terminationGracePeriodSeconds: int64.min(0).optional(),
    dnsPolicy: z.enum(['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']).optional(),
    hostname: dnsLabel.optional(),
    nodeName: text,
    nodeSelector: z.record(z.string(), z.string()).optional(),
    overhead: z.record(z.string(), quantity).optional(),
    preemptionPolicy: z.enum(['Never', 'PreemptLowerPriority']).optional(),
    priority: int32.optional(),
    priorityClassName: text,
    runtimeClassName: text,
    schedulerName: text,
    serviceAccount: text,
    serviceAccountName: text,
    subdomain: text,
    ...{ automountServiceAccountToken: flag, enableServiceLinks: flag, setHostnameAsFQDN: flag },
    ...{ hostIPC: flag, hostNetwork: flag, hostPID: flag, hostUsers: flag, shareProcessNamespace: flag },
  })
  .refine(({ containers, volumes = [] }) => {
    const names = volumes.map(({ name }) => name);
    return containers.every(({ volumeMounts = [] }) => volumeMounts.every(({ name }) => names.includes(name)));
  }, 'mounts of volumes that the pod has');
const rule = z
  .strictObject({
    action: z.enum(['FailJob', 'FailIndex', 'Ignore', 'Count']),
    onExitCodes: z
      .strictObject({
        containerName: text,
        operator: z.enum(['In', 'NotIn']),
        values: z.array(int32.min(1)).min(1).max(255).refine(isOrdered),
      })
      .optional(),
    onPodConditions: z
      .array(z.strictObject({ type: z.string(), status: z.enum(['True', 'False', 'Unknown']) }))
      .max(20)
      .optional(),
  })
  .refine(({ onExitCodes, onPodConditions }) => (onExitCodes === undefined) !== (onPodConditions === undefined));
const count = int32.min(0).max(100_000);
const jobSpec = z
  .strictObject({
    completionMode: z.literal('Indexed'),
    completions: count,
    parallelism: count,
    backoffLimitPerIndex: int32.min(0),
    podFailurePolicy: z.strictObject({ rules: z.array(rule).max(20) }),
    template: z.strictObject({ spec: podSpec }),
  })
  .refine(({ podFailurePolicy, template }) => {
    const names = template.spec.containers.map(({ name }) => name);
    return podFailurePolicy.rules.every(({ onExitCodes }) => names.includes(onExitCodes?.containerName ?? names[0]));
  }, 'rules for containers that the pod has');
const jobSchema = z.strictObject({
  apiVersion: z.literal('batch/v1'),
  kind: z.literal('Job'),
  metadata: z.strictObject({ name: dnsLabel }),
  spec: jobSpec,
});

describe('an experiment as a Job of Kubernetes', () => {
  const options = {
    name: 'pair',
    runs: 4,
    jobs: 9,
    image: 'lab:1',
    claim: 'runs',
    directory: '/runs/$(id)',
    planPath: '/runs/$(id)/.jobs/plan.json',
  };
  const few = kubernetesJob({ ...options, gpus: null, cpus: null, memory: null });
  const many = kubernetesJob({ ...options, jobs: null, gpus: 1, cpus: 8, memory: '64G' });

  it('survives strange names and amounts, or refuses them', () => {
    const job = (changes: object) => kubernetesJob({ ...options, gpus: null, cpus: null, memory: null, ...changes });
    const text = (changes: object): string => JSON.stringify(job(changes));
    for (const name of ['a-', 'a'.repeat(80)]) {
      expect(jobSchema.safeParse(job({ name })).error?.issues).toBeUndefined();
      expect(text({ name: 'a'.repeat(80), runs: 100 })).toContain(`"gq-${'a'.repeat(57)}"`);
    }
    // Kubernetes makes $(id) of $$(id), and would else look for a variable of that name.
    expect(text({})).toContain('"/runs/$$(id)/.jobs/plan.json"');
    for (const [memory, quantity] of [['64G', '64Gi'], ['500k', '500Ki'], ['4000', '4000Mi'], ['2TB', '2Ti']]) // biome-ignore format: one line
      expect(text({ memory })).toContain(`"memory":"${quantity}"`);
    expect(() => job({ memory: 'all' })).toThrow('--memory: expected an amount such as 32G, found all');
    expect(() => job({ directory: '/a:b' })).toThrow('without a colon');
    for (const claim of ['My Runs', 'runs_1', '', '-a', 'a..b', 'a'.repeat(254)])
      expect(() => job({ claim })).toThrow('--claim: expected the name of a PersistentVolumeClaim');
    for (const image of ['', ' lab:1', 'lab 1']) expect(() => job({ image })).toThrow('--image: expected the name');
    const usual = job({ claim: 'runs.lab-1', image: 'registry.lab:5000/gq@sha256:0f' });
    expect(jobSchema.safeParse(usual).error?.issues).toBeUndefined();
  });

  it('is a batch/v1 Job', () => {
    for (const job of [few, many]) expect(jobSchema.safeParse(job).error?.issues).toBeUndefined();
  });

  /** The manifest with the value at a path of keys replaced; undefined takes the key away. */
  const changed = (path: string, value: unknown): unknown => {
    const copy = JSON.parse(JSON.stringify(many)) as Record<string, unknown>;
    const keys = path.split('.');
    const last = keys.pop() ?? '';
    let place = copy;
    for (const key of keys) place = place[key] as Record<string, unknown>;
    place[last] = value;
    return JSON.parse(JSON.stringify(copy));
  };
  const pod = 'spec.template.spec';
  const gq = `${pod}.containers.0`;
  it.each<[path: string, value: unknown]>([
    [`${pod}.containers`, undefined],
    [`${pod}.containers`, []],
    [`${pod}.restartPolicy`, 'Always'],
    [`${pod}.terminationGracePeriodSeconds`, '300'],
    [`${pod}.terminationGracePeriodSeconds`, -1],
    [`${pod}.gracePeriodSeconds`, 300],
    [`${pod}.volumes`, undefined],
    [`${pod}.volumes.0.name`, 'other'],
    [`${pod}.volumes.0.persistentVolumeClaim.claimName`, undefined],
    [`${pod}.volumes.0.persistentVolumeClaim.claimName`, 'My Runs'],
    [`${pod}.volumes.0.emptyDir`, {}],
    [`${pod}.volumes.1`, { name: 'experiment', persistentVolumeClaim: { claimName: 'b' } }],
    [`${gq}.name`, undefined],
    [`${gq}.name`, 'gq_1'],
    [`${gq}.name`, 'lab'],
    [`${gq}.image`, ' lab'],
    [`${gq}.command`, 'gq task'],
    [`${gq}.env.0.name`, '1_CORE'],
    [`${gq}.env.0.value`, 8],
    [`${gq}.resources.limits.memory`, '64GB'],
    [`${gq}.resources.limits`, { 'nvidia.com/gpu': '1.5' }],
    [`${gq}.resources.limit`, {}],
    [`${gq}.volumeMounts.0.mountPath`, undefined],
    [`${gq}.volumeMounts.0.mountPath`, '/a:b'],
    [`${pod}.containers.1`, { name: 'gq' }],
  ])('is known from one that Kubernetes refuses: %s = %j', (path, value) => {
    expect(jobSchema.safeParse(changed(path, value)).success).toBe(false);
  });

  it('lets an update come to its end when a pod is asked to stop, within the time that the pod has', () => {
    for (const job of [few, many]) {
      const text = JSON.stringify(job);
      expect(text).toContain('"terminationGracePeriodSeconds":300');
      expect(text).toContain('{"name":"GQ_GRACE","value":"270"}');
    }
  });

  it('keeps the contract of exit codes', () => {
    expect(few).toMatchObject({
      spec: {
        completions: 4,
        parallelism: 4,
        podFailurePolicy: {
          rules: [
            { action: 'FailIndex', onExitCodes: { values: [2] } },
            { action: 'Ignore', onExitCodes: { values: [75] } },
            { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] },
          ],
        },
      },
    });
  });
});
