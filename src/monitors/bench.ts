/** How well a monitor tells labelled transcripts apart. It is shown texts alone: there is no policy whose features it could read. */
import { explainForeign, inTime, UserError } from '../base/index.ts';
import type { Seen } from '../grpo/arm.ts';
import type { ArmTools } from '../grpo/arm-tools.ts';
import { aurocInterval } from '../stats/index.ts';
import type { MonitorDefinition } from './monitor.ts';
import type { Transcript } from './transcripts.ts';

interface BenchOptions {
  readonly seed: number;
  readonly tell: (message: string) => Promise<void>;
}

export async function benchMonitor(
  definition: MonitorDefinition,
  settings: unknown,
  transcripts: readonly Transcript[],
  options: BenchOptions,
) {
  const call = `monitor ${definition.kind}`;
  if (definition.usesLabels(settings)) {
    throw new UserError({
      call,
      expected: 'a monitor that uses no labels',
      found: 'one that learns from a labelled run',
    });
  }
  const monitor = await definition.open(settings, textTools(call, options), { cleanScores: false });
  if (monitor.sees.features !== null) throw needsPolicy(call);
  const rollouts = transcripts.map(({ id, prompt, completion }, group): Seen => {
    const text = monitor.sees.text ? { prompt, completion } : null;
    return {
      id: `${group} ${id}`,
      step: 0,
      group,
      member: 0,
      sampled: 'full',
      truncated: false,
      length: completion.length,
      text,
    };
  });
  let scores: readonly (number | null)[];
  try {
    scores = await inTime(monitor.score({ step: 0, rollouts, features: null }), { call, expected: 'scores' });
  } catch (error) {
    throw explainForeign(error, { call, expected: 'no error from score()' });
  }
  if (scores.length !== transcripts.length || scores.some((score) => score !== null && !Number.isFinite(score))) {
    throw new UserError({ call, expected: `${transcripts.length} scores, finite or null`, found: 'others' });
  }
  const of = (wanted: boolean): number[] =>
    scores.flatMap((score, i) => (score !== null && transcripts[i].isPositive === wanted ? [score] : []));
  const [positives, negatives] = [of(true), of(false)];
  if (positives.length === 0 || negatives.length === 0) {
    const found = `${positives.length} positives and ${negatives.length} negatives with a score`;
    throw new UserError({ call, expected: 'transcripts of both kinds', found });
  }
  return {
    monitor: definition.kind,
    transcripts: transcripts.length,
    abstained: transcripts.length - positives.length - negatives.length,
    auroc: aurocInterval(positives, negatives),
    report: monitor.report?.() ?? {},
  };
}

function needsPolicy(call: string): UserError {
  return new UserError({
    call,
    expected: 'a monitor that reads texts alone',
    found: 'one that needs a policy, or a model beside it',
    fix: 'Such monitors are judged in a run: gq measure monitor. A judge can also be asked over HTTP: --set endpoint=URL --set modelName=NAME.',
  });
}

/** What a monitor of texts may use. */
function textTools(call: string, { seed, tell }: BenchOptions): ArmTools {
  const given = { seed, tell, folder: null, labels: null, labelled: null };
  return new Proxy(given, {
    get(own, name) {
      if (name in own) return own[name as keyof typeof own];
      throw needsPolicy(call);
    },
  }) as unknown as ArmTools;
}
