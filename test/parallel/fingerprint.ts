/** A hash of everything in a run that follows from its config: checkpoints, events, rollouts, features and directions. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export function fingerprint(path: string): string {
  const hash = createHash('sha256');
  const exact = ['rollouts.parquet', 'rollouts.jsonl', 'events.jsonl', 'features.f32', 'directions.f32'];
  const files = [
    ...exact.filter((name) => existsSync(join(path, name))),
    ...readdirSync(join(path, 'checkpoints'), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.\w+$/.test(name))
      .sort()
      .map((name) => join('checkpoints', name)),
  ];
  for (const name of files) hash.update(name).update(readFileSync(join(path, name)));
  return hash.digest('hex').slice(0, 16);
}
