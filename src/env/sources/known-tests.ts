/**
 * Test problems that others report rates on: the 119 LeetCode problems of medium and hard difficulty of Ariahw's benchmark
 * (github.com/ariahw/rl-rewardhacking). A run that trains on them measures nothing there, so they are recognised, by id and method or by
 * statement, and refused as training data, in pairs too: arms learn from them. Only short hashes are kept here.
 */
import { UserError } from '../../base/index.ts';
import { sha256 } from '../../base/node/index.ts';
import type { Pair } from '../pairs/pair.ts';
import { type Problem, programOf } from '../problem.ts';
import { statementOf } from './overlap.ts';

const prints: ReadonlySet<string> = new Set(
  `
  0277e540bf 03369465aa 0449f13759 0454cfa35c 046ae258c6 05e2b29a06 078a6475f4 0e71c1955f 0eb5352261 0fd3de29ae
  10c1950be4 10ce59b3aa 14613c0c13 172f0c9d29 175f11f84c 17c8734032 17fe3a42b5 19b4532d05 19cceb5d5f 1a5d8be157
  1b34a82e1a 1bf5458c81 1cd91a31a1 1de0eeea15 1df16e1feb 1e7445c764 1e7715b38e 1ee60b49fc 20e61c2882 219ff4c8d2
  21e37f3593 22bf1ddb4b 246c26de44 264de2cd68 282cce7cd1 29520ba950 2a27c208ca 2a6cba5047 2b1054927d 2b44539fbc
  2d5da682ec 2e56ce8bbe 2eb108d7ea 30d5f1bf33 320a19ec96 32c9b9728c 32ca458831 32e963eeab 34c4358d73 34f4352f91
  35183ddb1a 35e3411c1f 3606eaa608 3748601d04 377c60574e 39792a28ef 39a9ce99e9 39c99856a5 3a1678011a 3b03c56499
  3b44a317eb 3f3774972d 400127bf15 4086cbe857 41dcbe3fe8 4247affb82 4365ca2a50 440ef22b5b 46438497e8 47a844f851
  487e2a49f8 4924bf45f3 4952fafe9c 49a0385251 4a1311d79b 4a60c10b10 4a93005c2e 4cb140b6d8 4d5587490e 4d61598c71
  4da724a4dc 4e8acdc6e7 4f90ffc968 5087b449cc 511dc9acbd 533e7a0240 54964a59d3 549cfbc72e 54c53699a7 584c0bb75d
  586003aa3f 5a43a8807b 5baa65028b 5cea0fe0c9 62f0adc632 6440738b85 64b9aeda75 66f1008f28 674eb4272f 683060bb12
  6917250d8c 6981e90d13 6bb10b66b7 6bb4ebfa50 6bb7ee2458 6d7b44c757 6f286441aa 6f31bb264a 7168a96c0a 71aa73d0d3
  733f8aa8bb 744efd850e 74946d29cd 755856b3bb 761958d65e 7694ce5fdf 76c772f22d 7765c64d3c 79e1ff61ae 7a6c8140ec
  7a8c6a9697 7b80a9eded 7bfaccfc15 7f2f8f3fcf 80f1c5f10d 81930b1c7c 83a45bbba4 85d0bc008d 87ffb7fc6e 8872e8b702
  8d2cc48760 8d7340cf8a 8dfaa261a2 90e510f178 925675efb8 93fffd191b 94f457828a 9541d9091f 95975fb6dc 963b9e493c
  964d03d04a 96ba3b4f27 990c0d7839 99ca73b852 9b06028fbd 9bb718597c 9bbb1c6a9b 9e18b6a15e 9e98dd33af 9f04d7ce0c
  9fdcbec6ec a045791d7d a0db816f93 a0f778a28f a1c4b7c5a6 a375fce172 a3fd3486b0 a5f38f2686 a77dc238c3 a79b7ea038
  a7fad9a103 a81fe702cd a8f3b29fc9 a998a5ed69 aaaa9e92fd aafa3851df ace37e4f73 ad0df274eb af90fe48e7 afe4c58b08
  b13df3eecb b3753f031a b5b0673d95 b625ca8a6c b66e078f81 b744f824ac b81d662670 b89460e210 b8fa6ab9bc bb29f6e905
  bd88e46313 bf318b8f07 bf53f5eeb0 bf6df2b641 c2284e40d9 c31ac7c7fd c461ec4f7c c898a4a2e0 ca51eed5a9 cba1e7db0a
  cdce415dce ce013a271d ce6464f4a0 d34beb517c d377084b16 d4ea6e867c d5f09a7094 d6980d0f8f d806d40d6a da243869b7
  dde29c1bdf dfb756e51a dfef9bb10f e215526e82 e261a34ae9 e394fd0371 e4ab11f627 e63f8069f4 e77b5112d2 e7fe22769e
  e852921eb3 e96eeb01cf ea4455116a eac93778db eacb2df0e4 eb480315af ec965c33af eebc87aae5 ef61149af5 f03755b60c
  f1660764ef f224ec2e72 f2c8203c13 f34a7f0406 f3b4bc628f f44a2a94a6 f58b7f2437 f65497ea2d f78cd63ea9 f7b08913b6
  fa658b198b faa997ea5b fb7fa918f0 fd16ae1bde fe09d1067d ff119b8ff9 ff33684170 ff64c5850c
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

function isKnownTest(problem: Problem): boolean {
  return prints.has(printOf(`${problem.id} ${programOf(problem).methodName}`)) || statesKnownTest(problem.messages);
}

/** Refuses pairs whose prompt is a known test problem. */
export function expectNoTestPairs(pairs: readonly Pair[], file: string): void {
  const known = pairs.filter(({ prompt }) =>
    statesKnownTest(typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt),
  );
  if (known.length === 0) return;
  throw new UserError({
    call: `config, key pairs.file: ${file}`,
    expected: 'pairs whose prompts are no test problems of the LeetCode benchmark',
    found: `${known.length} of ${pairs.length} that are`,
    fix: 'Write pairs of other problems: what is learned from these measures nothing on the test problems.',
  });
}

/** Refuses known test problems among those that are trained on or chosen by. */
export function expectNoKnownTest(problems: readonly Problem[], file: string): void {
  const known = problems.filter(isKnownTest);
  if (known.length === 0) return;
  throw new UserError({
    call: `config, key data.path: ${file}`,
    expected: 'training problems that are no test problems of the LeetCode benchmark',
    found: `${known.length} of ${problems.length} that are, such as ${known[0].id}`,
    fix: 'Name that file with data.testPath, and other problems with data.path.',
  });
}
