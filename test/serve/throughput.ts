/**
 * What serving costs beside `generate`: both complete the same prompts to the same length, in turns, in one process with one thread, so that the
 * clients have a core of their own. Processor time per token is compared, which other programs do not disturb much, and wall time, which counts
 * only where `generate` had its core to itself.
 */
import type { ServerProcess } from './asked-process.ts';
import { askTokens, checkRows, newTokens, promptOf } from './crowd.ts';
import type { MadePolicy } from './served.ts';

const [turns, asksPerClient] = [7, 2];
const tokensOfTurn = checkRows * asksPerClient * newTokens;

interface Turn {
  /** Seconds of the server's process, and seconds of the clock. */
  readonly processor: number;
  readonly wall: number;
}

export interface Throughput {
  /** Speed of serving as a share of that of `generate`, the middle of all turns. */
  readonly processor: number;
  readonly wall: number;
  /** The share of its core that `generate` had. */
  readonly core: number;
  readonly lost: number;
}

async function time(server: ServerProcess, work: () => Promise<number>): Promise<Turn & { lost: number }> {
  const [before, start] = [await server.ask('processor'), performance.now()];
  const tokens = await work();
  const wall = (performance.now() - start) / 1000;
  return { processor: (await server.ask('processor')) - before, wall, lost: tokensOfTurn - tokens };
}

/** As many clients as there are rows ask one question after another; every third answer is a stream. */
async function serveAll(url: string, served: MadePolicy['served']): Promise<number> {
  const counts = await Promise.all(
    Array.from({ length: checkRows }, async (_, client) => {
      let tokens = 0;
      for (let i = client; i < checkRows * asksPerClient; i += checkRows) {
        const settings = { model: 'trained', seed: i, temperature: 0.7, ignore_eos: true };
        tokens += (await askTokens(url, { ...settings, prompt: promptOf(i, served) }, i % 3 === 0)).length;
      }
      return tokens;
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

const middle = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

export async function measureThroughput(server: ServerProcess, served: MadePolicy['served']): Promise<Throughput> {
  const plain: Turn[] = [];
  const asked: Turn[] = [];
  let lost = 0;
  // The first turn of each only warms up.
  for (let turn = 0; turn <= turns; turn++) {
    const one = await time(server, () => server.ask(`generate ${checkRows * asksPerClient}`));
    const other = await time(server, () => serveAll(server.url, served));
    lost += one.lost + other.lost;
    if (turn === 0) continue;
    plain.push(one);
    asked.push(other);
  }
  const share = (key: keyof Turn): number => middle(plain.map((each, i) => each[key] / asked[i][key]));
  const core = middle(plain.map(({ processor, wall }) => processor / wall));
  return { processor: share('processor'), wall: share('wall'), core, lost };
}
