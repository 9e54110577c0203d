/**
 * Test problems that others report rates on: the 119 LeetCode problems of medium and hard difficulty of Ariahw's benchmark
 * (github.com/ariahw/rl-rewardhacking). A run that trains on them measures nothing there, so they are recognised, by id and method, by
 * statement or by solution, and refused as training data of every source, in pairs too: arms learn from them. LeetCodeDataset, which they
 * were taken from, has other ids and, for some, other solutions. Only short hashes are kept here.
 */
import { UserError } from '../../base/index.ts';
import { sha256 } from '../../base/node/index.ts';
import type { Pair } from '../pairs/pair.ts';
import type { Problem } from '../problem.ts';
import { statementOf } from './overlap.ts';
import type { Splits } from './splits.ts';

const prints: ReadonlySet<string> = new Set(
  `
  00fa30088a 0277e540bf 03369465aa 03456bd075 0449f13759 0454cfa35c 046ae258c6 052e246a6f 05e2b29a06 06cd500378
  078a6475f4 0c151d33fe 0d7679a257 0e71c1955f 0eb5352261 0fd3de29ae 10c1950be4 10ce59b3aa 11c2e0df92 14613c0c13
  16dc69334f 16ebcc9cd9 172f0c9d29 175f11f84c 17c8734032 17fe3a42b5 18ef535a4f 19b4532d05 19cceb5d5f 1a5d8be157
  1b34a82e1a 1bf5458c81 1cae8d3924 1cd91a31a1 1de0eeea15 1df16e1feb 1e7445c764 1e7715b38e 1ee60b49fc 20e61c2882
  219ff4c8d2 21e37f3593 22bf1ddb4b 246c26de44 25227c7d44 25c195b29b 2619213628 264de2cd68 2776cbe151 282cce7cd1
  29520ba950 298712bed1 2a27c208ca 2a6cba5047 2b1054927d 2b44539fbc 2d027456fd 2d5da682ec 2e56ce8bbe 2eb108d7ea
  30194104ee 30d5f1bf33 320a19ec96 32c9b9728c 32ca458831 32e963eeab 34c4358d73 34f4352f91 35183ddb1a 35e3411c1f
  3606eaa608 36ea76c49e 3748601d04 377c60574e 3851d8eadb 38c5c551e5 39792a28ef 39a9ce99e9 39c99856a5 3a1678011a
  3b03c56499 3b44a317eb 3c07025c62 3f3774972d 400127bf15 4086cbe857 41d58b04ed 41dcbe3fe8 4247affb82 4365ca2a50
  436a31686d 438f6db158 440ef22b5b 44562ae142 4637d419d8 46438497e8 471aed0324 47a844f851 487e2a49f8 4895355446
  4924bf45f3 4952fafe9c 49a0385251 4a1311d79b 4a54430c2c 4a60c10b10 4a93005c2e 4c5f3dc63f 4cb140b6d8 4d5587490e
  4d61598c71 4da724a4dc 4e8acdc6e7 4f90ffc968 5087b449cc 50bb8f884b 511dc9acbd 533e7a0240 54150d01cb 54964a59d3
  549cfbc72e 54c53699a7 584c0bb75d 586003aa3f 5a2eaed39a 5a43a8807b 5baa65028b 5c6f63b7d5 5ce966dbe3 5cea0fe0c9
  5cfd05da7f 5dfaeeee89 5e4223f4b7 61c97bda31 62d083ce4a 62f0adc632 6440738b85 64b9aeda75 66f1008f28 674eb4272f
  683060bb12 68b141f255 6917250d8c 692395c86c 6981e90d13 6bb10b66b7 6bb4ebfa50 6bb7ee2458 6bf02acef3 6d7b44c757
  6f286441aa 6f31bb264a 7168a96c0a 71aa73d0d3 733f8aa8bb 744efd850e 74946d29cd 755856b3bb 7599644dd2 761958d65e
  7680a73780 7694ce5fdf 76c772f22d 7765c64d3c 79210be517 79e1ff61ae 7a07c2d91c 7a6c8140ec 7a8c6a9697 7b80a9eded
  7bfaccfc15 7f00868d5c 7f2f8f3fcf 803ccc5ae9 80e3add81a 80f1c5f10d 81930b1c7c 83a45bbba4 85a3c666b8 85d0bc008d
  86d32368ae 87ffb7fc6e 8872e8b702 897a6630f5 8b04baee27 8d2cc48760 8d7340cf8a 8dfaa261a2 8fa8ff036d 90e510f178
  925675efb8 93fffd191b 9490648157 949a926340 94f457828a 9521f693f5 9541d9091f 9553c27cba 95975fb6dc 963b9e493c
  964d03d04a 96ba3b4f27 978e58c8d2 990c0d7839 99270a496b 9965760a2f 99ca73b852 9b06028fbd 9bb718597c 9bbb1c6a9b
  9c660877c8 9e18b6a15e 9e7b159f5b 9e98dd33af 9f04d7ce0c 9f824dd6c8 9fdcbec6ec a045791d7d a0db816f93 a0f778a28f
  a1bf48dda0 a1c4b7c5a6 a23b854d38 a375fce172 a3fd3486b0 a4743365c3 a4c8142aeb a56d453e9c a5f38f2686 a77dc238c3
  a79b7ea038 a7fad9a103 a81fe702cd a8f3b29fc9 a998a5ed69 aaaa9e92fd aabf413e68 aafa3851df ace37e4f73 ad0df274eb
  af90fe48e7 afe4c58b08 b13df3eecb b1bd6ac801 b3753f031a b3e214a4f4 b40025eff4 b5b0673d95 b5c74209ab b625ca8a6c
  b66e078f81 b744f824ac b81d662670 b89460e210 b8c8e3e886 b8fa6ab9bc bb29f6e905 bb31e46099 bd88e46313 bd9222d67d
  be9aa06940 bf318b8f07 bf392a5888 bf53f5eeb0 bf6df2b641 bfb1479c6a c1cd8c201a c2284e40d9 c29ca87ce1 c30e7f478b
  c31ac7c7fd c3f62ebdbb c44647e853 c461ec4f7c c898a4a2e0 ca51eed5a9 cb471f8a1d cba1e7db0a cdce415dce ce013a271d
  ce6464f4a0 d2ca84f57c d34beb517c d377084b16 d4ea6e867c d5f09a7094 d6980d0f8f d7aef602bc d806d40d6a d853cfcdd2
  da243869b7 db77f8d6cc dbff3bfdd1 dd6db529fd dde29c1bdf dfb756e51a dfef9bb10f e14f70a6f6 e1748628df e215526e82
  e261a34ae9 e2781ac7de e394fd0371 e484d9eb69 e4ab11f627 e566f171b3 e62d9ed05d e63f8069f4 e640640a83 e77b5112d2
  e7fe22769e e852921eb3 e89ab3be41 e96eeb01cf ea4455116a eac93778db eacb2df0e4 eb041f64a1 eb480315af ec965c33af
  eebc87aae5 ef61149af5 f03755b60c f0dd60235d f1660764ef f1f2a9be3e f21da89ee0 f2234f2339 f224ec2e72 f2c8203c13
  f34a7f0406 f3b362ba74 f3b4bc628f f44a2a94a6 f58b7f2437 f65497ea2d f78cd63ea9 f78d24c3c7 f7b08913b6 f7b0e4b234
  fa658b198b faa997ea5b fb7fa918f0 fd16ae1bde fdbf62af0a fe09d1067d fe56ba5e74 ff119b8ff9 ff33684170 ff64c5850c
`
    .trim()
    .split(/\s+/),
);

const printOf = (text: string): string => sha256(text).slice(0, 10);

/** Whether the user's turns together, or any turn by itself, state a known problem. */
function statesKnownTest(messages: Problem['messages']): boolean {
  const alone = messages.map(({ content }) => [{ role: 'user' as const, content }]);
  return [messages, ...alone].some((turns) => prints.has(printOf(statementOf({ messages: turns }))));
}

/** Whether a text is the solution of a known problem, in any of its fences or alone. */
function solvesKnownTest(text: string): boolean {
  const fenced = Array.from(text.matchAll(/```[^\n]*\n([\s\S]*?)```/g), ([, code]) => code);
  return [text, ...fenced].some((code) => prints.has(printOf(`solution ${code.replace(/\s/g, '')}`)));
}

function isKnownTest(problem: Problem): boolean {
  const method = 'methodName' in problem ? problem.methodName : '';
  const isNamed = prints.has(printOf(`${problem.id} ${method}`));
  return isNamed || statesKnownTest(problem.messages) || solvesKnownTest(problem.canonicalSolution);
}

/** Refuses pairs whose prompt is a known test problem, or a side of which solves one. */
export function expectNoTestPairs(pairs: readonly Pair[], file: string): void {
  const known = pairs.filter(
    ({ prompt, hack, clean }) =>
      statesKnownTest(typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt) ||
      [hack, clean].some(solvesKnownTest),
  );
  if (known.length === 0) return;
  throw new UserError({
    call: `config, key pairs.file: ${file}`,
    expected: 'pairs that are no test problems of the LeetCode benchmark',
    found: `${known.length} of ${pairs.length} that are`,
    fix: 'Write pairs of other problems: what is learned from these measures nothing on the test problems.',
  });
}

/** Refuses known test problems among those that are trained on or chosen by. `kind` is their source. */
export function expectNoKnownTest({ train, validation }: Splits, kind: string): void {
  const problems = [...train, ...validation];
  const known = problems.filter(isKnownTest);
  if (known.length === 0) return;
  throw new UserError({
    call: `config, table data of kind "${kind}"`,
    expected: 'training problems that are no test problems of the LeetCode benchmark',
    found: `${known.length} of ${problems.length} that are, such as ${known[0].id}`,
    fix: 'Take them out, and test on them: data.testPath names their file where data.kind is "file".',
  });
}
