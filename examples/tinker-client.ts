/**
 * Trains a few steps on `gq serve micro-activation --api tinker`: samples, a reward, advantages, a route for each datum, gradients, a step.
 * Arguments: the server's address and steps; without any http://127.0.0.1:8000 and 5. Key: TINKER_API_KEY, if it has one.
 */
// In a clone; npx takes the Node of npm ci, which reads TypeScript: npx node examples/tinker-client.ts http://127.0.0.1:8000 5
const [address = 'http://127.0.0.1:8000', steps = '5'] = process.argv.slice(2);
const headers = { 'content-type': 'application/json', 'x-api-key': process.env['TINKER_API_KEY'] ?? '' };

type Sequence = { readonly tokens: number[]; readonly logprobs: number[] };
type Answer = Readonly<Record<'session_id' | 'model_id' | 'sampling_session_id', string>> & {
  readonly request_id?: string;
  readonly error?: string;
  readonly sequences: readonly Sequence[];
  readonly loss_fn_outputs: readonly { readonly activations: { readonly shape: readonly number[] } }[];
};

/** The answer itself: what takes long is a future, which is fetched until it is there (408: not yet). */
async function ask(path: string, body: object): Promise<Answer> {
  const response = await fetch(`${address}/api/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (response.status === 408) return ask(path, body);
  const answer = (await response.json()) as Answer;
  if (!response.ok || answer.error !== undefined) throw new Error(answer.error ?? JSON.stringify(answer));
  return answer.request_id === undefined ? answer : ask('retrieve_future', { request_id: answer.request_id });
}

/** Targets are the tokens that follow; what stands over the prompt counts nothing. */
function datum({ tokens, logprobs }: Sequence, advantage: number, route: string) {
  const padding = prompt.slice(1).map(() => 0);
  const tensor = (dtype: string, row: readonly number[]) => ({ dtype, data: [...padding, ...row] });
  const advantages = tensor('float32', new Array<number>(tokens.length).fill(advantage));
  const inputs = { target_tokens: tensor('int64', tokens), logprobs: tensor('float32', logprobs), advantages };
  return { model_input: { chunks: [{ tokens: [...prompt, ...tokens.slice(0, -1)] }] }, loss_fn_inputs: inputs, route };
}

async function sample(block: string, seed: number): Promise<readonly Sequence[]> {
  const { sampling_session_id } = await ask('save_weights_for_sampler', { model_id, block });
  const wishes = { prompt: { chunks: [{ tokens: prompt }] }, sampling_params: { max_tokens: 12, seed } };
  return (await ask('asample', { sampling_session_id, num_samples: 8, ...wishes })).sequences;
}

const { session_id } = await ask('create_session', { tags: [] });
const told = await fetch(`${address}/api/v1/get_server_capabilities`, { headers });
const [{ model_name }] = ((await told.json()) as { supported_models: { model_name: string }[] }).supported_models;
const { model_id } = await ask('create_model', {
  session_id,
  base_model: model_name,
  lora_config: { rank: 4, seed: 1 },
});
const prompt = [5, 6, 7, 8];
for (let step = 1; step <= Number(steps); step++) {
  const made = await sample('full', step);
  // Made up: variety pays. And what a monitor would flag learns in the quarantine, which is deleted at deployment.
  const rewards = made.map(({ tokens }) => new Set(tokens).size / tokens.length);
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const routes = made.map(({ tokens }) => (tokens.length < 12 ? 'quarantine' : 'absorb'));
  const data = made.map((sequence, i) => datum(sequence, rewards[i] - mean, routes[i]));
  const input = { data, loss_fn: 'importance_sampling', loss_fn_config: { activations: 1 } };
  const learned = await ask('forward_backward', { model_id, forward_backward_input: input });
  const shape = learned.loss_fn_outputs[0].activations.shape.join(' x ');
  await ask('optim_step', { model_id, adam_params: { learning_rate: 1e-3 } });
  const flagged = `${routes.filter((route) => route === 'quarantine').length} of ${made.length} quarantined`;
  console.log(`step ${step}: reward ${mean.toFixed(3)}, ${flagged}, activations ${shape}`);
}
console.log(`deployed: [${(await sample('deployed', 0))[0].tokens.join(', ')}]`);
