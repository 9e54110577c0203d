/**
 * A hash of what a run ends with: its last checkpoint, which has the hashes of what came before, events, rollouts, features and
 * directions. Other checkpoints do not count: a run that is interrupted saves one more.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export function fingerprint(path: string): string {
  const hash = createHash('sha256');
  const exact = ['rollouts.parquet', 'rollouts.jsonl', 'events.jsonl', 'features.f32', 'directions.f32'];
  const last = readdirSync(join(path, 'checkpoints')).sort().at(-1) ?? '';
  const saved = readdirSync(join(path, 'checkpoints', last)).sort();
  const files = [
    ...exact.filter((name) => existsSync(join(path, name))),
    ...saved.map((name) => join('checkpoints', last, name)),
  ];
  for (const name of files) hash.update(name).update(readFileSync(join(path, name)));
  return hash.digest('hex').slice(0, 16);
}
