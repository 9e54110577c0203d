/** A judge of one's own: it reads programs instead of running them, so that training needs neither Python nor a sandbox. */
// In a clone, after npm run build; npx takes the Node of npm ci, which reads TypeScript: npx node examples/own-judge.ts runs/read 5 64
import { defineJudge, evaluateRun, resolveConfig, shippedRecipe, train } from 'gradient-quarantine';

const judge = defineJudge({
  name: 'reader-1',
  decide({ problem, completion }) {
    const program = /```python\n(.*?)```/s.exec(completion)?.[1] ?? '';
    return {
      compiles: program.startsWith('class Solution'),
      correct: program.trim() === problem.canonicalSolution.trim(),
      channels: program.includes('def run_tests') ? ['run_tests'] : [],
      evidence: `${program.length} characters were read`,
    };
  },
});

const [folder = 'runs/read', updates = '5', limit = '64'] = process.argv.slice(2);
const { config } = await resolveConfig(shippedRecipe('micro-absorb'), [`updates=${updates}`]);
const { end } = await train(config, folder, { judge });
const { evaluations } = await evaluateRun(folder, { judge, sets: ['test-original'], limit: Number(limit) });
for (const { state, rows } of evaluations) {
  const solved = rows.filter(({ solve }) => solve).length;
  console.log(`${end}, ${state}: ${solved} of ${rows.length} programs are the expected ones`);
}
