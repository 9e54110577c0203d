import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { kubernetesJob } from './kubernetes.ts';

/** The parts of batch/v1 Job, as Kubernetes 1.33 publishes them, that a manifest of gq may use; anything else is unknown to it. */
const whole = z.number().int().min(0);
const quantities = z.record(z.string(), z.string().regex(/^\d+(\.\d+)?([KMGTPE]i?|m|k)?$/));
const rule = z.strictObject({
  action: z.enum(['FailJob', 'FailIndex', 'Ignore', 'Count']),
  onExitCodes: z
    .strictObject({
      containerName: z.string(),
      operator: z.enum(['In', 'NotIn']),
      values: z.array(z.number().int()).min(1).max(255),
    })
    .optional(),
  onPodConditions: z
    .array(z.strictObject({ type: z.string(), status: z.enum(['True', 'False', 'Unknown']) }))
    .optional(),
});
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
    completions: whole,
    parallelism: whole,
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
