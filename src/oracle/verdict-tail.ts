/**
 * The verdicts of a run that is being trained, counted update by update as they are written. Used to show a run; the trainer,
 * across the wall, never sees them. When a resume has shortened the file, counting begins again. Of a blind run nothing is counted.
 */
import { dirname } from 'node:path';
import { z } from 'zod';
import { UserError } from '../base/index.ts';
import { followJsonl, type JsonlFollower } from '../base/node/index.ts';
import { type DemonstrationTest, isBlind } from '../run/index.ts';
import { type Tally, type TallyRow, tally } from './tally.ts';

/** The parts of a verdict that counting needs; the id begins with the update. */
const counted = z.object({
  id: z.string().regex(/^\d+-/),
  loophole: z.string(),
  exploited: z.boolean(),
  correct: z.boolean(),
  channels: z.array(z.string()).default([]),
});

export class VerdictTail {
  readonly #follower: JsonlFollower;
  readonly #isDemonstration: DemonstrationTest;
  readonly #rows = new Map<number, TallyRow[]>();
  readonly #tallies = new Map<number, Tally>();
  /** Null until there is something to read: a run has a manifest by then. */
  #hidden: boolean | null = null;

  /** `isDemonstration` tells the rows that the policy did not sample, which are not counted. */
  constructor(path: string, isDemonstration: DemonstrationTest = () => false) {
    this.#follower = followJsonl(path);
    this.#isDemonstration = isDemonstration;
  }

  /** Counts of every update so far, in order. */
  read(): Tally[] {
    this.#catchUp();
    return [...this.#tallies].sort(([a], [b]) => a - b).map(([, counts]) => counts);
  }

  /** Counts of one update; all zero when nothing was graded in it. */
  at(update: number): Tally {
    this.#catchUp();
    return this.#tallies.get(update) ?? tally([]);
  }

  #catchUp(): void {
    const { values, restarted } = this.#follower.read();
    if (restarted) {
      this.#rows.clear();
      this.#tallies.clear();
    }
    if (values.length > 0) this.#hidden ??= isBlind(dirname(this.#follower.path));
    if (this.#hidden) return;
    const changed = new Set<number>();
    for (const value of values) {
      const { id, ...row } = this.#parse(value);
      if (this.#isDemonstration(id, row.loophole)) continue;
      const update = Number.parseInt(id, 10);
      const known = this.#rows.get(update);
      if (known === undefined) this.#rows.set(update, [row]);
      else known.push(row);
      changed.add(update);
    }
    for (const update of changed) this.#tallies.set(update, tally(this.#rows.get(update) ?? []));
  }

  #parse(value: unknown): z.infer<typeof counted> {
    const parsed = counted.safeParse(value);
    if (parsed.success) return parsed.data;
    const found = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
    throw new UserError({ call: `read ${this.#follower.path}`, expected: 'verdicts', found });
  }
}
