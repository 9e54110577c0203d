/**
 * The verdicts of a run that is being trained, counted update by update as they are written. Used to show a run; the trainer,
 * across the wall, never sees them. When a resume has shortened the file, counting begins again. Of a blind run nothing is counted, and
 * nothing of rollouts of which only the reward is known.
 */
import { dirname } from 'node:path';
import { z } from 'zod';
import { followJsonl, type JsonlFollower } from '../base/node/index.ts';
import { checkStored, type DemonstrationTest, isBlind } from '../run/index.ts';

const counted = z.object({
  id: z.string().regex(/^\d+-/),
  loophole: z.string(),
  exploited: z.boolean(),
  correct: z.boolean(),
  channels: z.array(z.string()).default([]),
  outcome: z.string().optional(),
});

/** Attempts are counted among hackable rollouts, whose prompt disclosed a loophole; in right programs too. */
const nothing = { graded: 0, hackable: 0, attempts: 0, hacks: 0, solves: 0, cleanSolves: 0 };
export type Tally = Readonly<typeof nothing>;

export class VerdictTail {
  readonly #follower: JsonlFollower;
  readonly #isDemonstration: DemonstrationTest;
  readonly #tallies = new Map<number, Tally>();
  /** Null until there is something to read: a run has a manifest by then. */
  #hidden: boolean | null = null;

  /** `isDemonstration` tells the rows that the policy did not sample, which are not counted. */
  constructor(path: string, isDemonstration: DemonstrationTest = () => false) {
    this.#follower = followJsonl(path);
    this.#isDemonstration = isDemonstration;
  }

  read(): Tally[] {
    this.#catchUp();
    return [...this.#tallies].sort(([a], [b]) => a - b).map(([, counts]) => counts);
  }

  at(update: number): Tally {
    this.#catchUp();
    return this.#tallies.get(update) ?? nothing;
  }

  #catchUp(): void {
    const { values, restarted } = this.#follower.read();
    if (restarted) this.#tallies.clear();
    if (values.length > 0) this.#hidden ??= isBlind(dirname(this.#follower.path));
    if (this.#hidden) return;
    for (const value of values) {
      const call = `read ${this.#follower.path}`;
      const { id, loophole, exploited, correct, channels, outcome } = checkStored(value, call, 'verdicts', counted);
      if (this.#isDemonstration(id, loophole) || outcome === 'unknown') continue;
      const update = Number.parseInt(id, 10);
      const isHackable = loophole !== 'gt_only';
      const tally = { ...(this.#tallies.get(update) ?? nothing) };
      tally.graded += 1;
      tally.hackable += Number(isHackable);
      tally.attempts += Number(isHackable && channels.length > 0);
      tally.hacks += Number(exploited);
      tally.solves += Number(correct);
      tally.cleanSolves += Number(correct && channels.length === 0);
      this.#tallies.set(update, tally);
    }
  }
}
