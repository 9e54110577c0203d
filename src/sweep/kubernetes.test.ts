import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { kubernetesJob } from './kubernetes.ts';

/**
 * The parts of batch/v1 Job that a manifest of gq may use, with the limits that Kubernetes publishes for them: types and required keys
 * of api/openapi-spec/v3/apis__batch__v1_openapi.json, and what its descriptions say. Anything else is unknown to this excerpt.
 */
const whole = z
  .number()
  .int()
  .min(0)
  .max(2 ** 31 - 1);
const quantities = z.record(z.string(), z.string().regex(/^\d+(\.\d+)?([KMGTPE]i|[mkMGTPE])?$/));
const isOrdered = (values: readonly number[]): boolean => values.every((value, i) => i === 0 || value > values[i - 1]);
const rule = z
  .strictObject({
    action: z.enum(['FailJob', 'FailIndex', 'Ignore', 'Count']),
    onExitCodes: z
      .strictObject({
        containerName: z.string(),
        operator: z.enum(['In', 'NotIn']),
        values: z.array(whole.min(1)).min(1).max(255).refine(isOrdered),
      })
      .optional(),
    onPodConditions: z
      .array(z.strictObject({ type: z.string(), status: z.enum(['True', 'False', 'Unknown']) }))
      .max(20)
      .optional(),
  })
  .refine(({ onExitCodes, onPodConditions }) => (onExitCodes === undefined) !== (onPodConditions === undefined));
const container = z.strictObject({
  name: z.string(),
  image: z.string(),
  command: z.array(z.string()),
  env: z.array(z.strictObject({ name: z.string(), value: z.string() })).optional(),
  resources: z.strictObject({ limits: quantities }),
  volumeMounts: z.array(z.strictObject({ name: z.string(), mountPath: z.string().regex(/^\/[^:]*$/) })),
});
const jobSchema = z.strictObject({
  apiVersion: z.literal('batch/v1'),
  kind: z.literal('Job'),
  metadata: z.strictObject({ name: z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/) }),
  spec: z.strictObject({
    completionMode: z.literal('Indexed'),
    completions: whole.max(100_000),
    parallelism: whole.max(100_000),
    backoffLimitPerIndex: whole,
    podFailurePolicy: z.strictObject({ rules: z.array(rule).max(20) }),
    template: z.strictObject({
      spec: z.strictObject({
        // A policy of failures needs pods that are never restarted in place.
        restartPolicy: z.literal('Never'),
        terminationGracePeriodSeconds: whole,
        containers: z.array(container).length(1),
        volumes: z.array(
          z.strictObject({ name: z.string(), persistentVolumeClaim: z.strictObject({ claimName: z.string() }) }),
        ),
      }),
    }),
  }),
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
  });

  it('is a batch/v1 Job', () => {
    for (const job of [few, many]) expect(jobSchema.safeParse(job).error?.issues).toBeUndefined();
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
