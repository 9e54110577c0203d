/** `gq serve`: the policy of a run in the form of OpenAI's API, or the model of a recipe to train in the form of Tinker's, until Ctrl-C. */
import { UserError } from '../../base/index.ts';
import { expectWritable, isLoopback } from '../../base/node/index.ts';
import { type Lab, onInterrupt, openLab, resolveConfig } from '../../lab/index.ts';
import { openPolicy, openServed, PolicyServer, servedStates, TinkerServer } from '../../serve/index.ts';
import { argument, type CallOf, type CommandContext, choice, command, mostAtOnce, whole, word } from '../command.ts';
import { configOption, expectAbsent, portOption, tokenFrom, updateOption } from '../shared.ts';

export const tokenVariable = 'GQ_SERVE_TOKEN';

export function tokenFor(host: string, call = 'gq serve'): string | null {
  const token = tokenFrom(tokenVariable, call);
  if (token !== null || isLoopback(host)) return token;
  throw new UserError({
    call: `${call} --host ${host}`,
    expected: `a token in ${tokenVariable}, since other machines can reach this address`,
    found: 'none',
    fix: `Set one, such as: export ${tokenVariable}=$(openssl rand -hex 16)`,
  });
}

const parts = {
  run: argument('<run>', 'a run directory; with --api tinker a recipe, or the name of one in the package'),
};
const options = {
  api: choice(
    '<name>',
    'openai: completions of a run; tinker: training of the model of a recipe',
    ['openai', 'tinker'],
    'openai',
  ),
  state: choice('<name>', 'serve this state alone; without it all three, each as a model of its name', [
    'deployed',
    'trained',
    'base',
  ]),
  host: word('<address>', `the address to listen on; one that others can reach needs ${tokenVariable}`, '127.0.0.1'),
  port: portOption(8000),
  rows: whole('<n>', 'most completions that are made at a time', { usual: 64, most: mostAtOnce }),
  context: whole('<n>', 'most tokens of a prompt and its completion; as many as the run or the recipe when absent'),
  update: updateOption,
  adapters: word('<folder>', 'a folder that clients may load adapters from, as vLLM loads them; none when absent'),
  device: choice('<name>', 'the device; the one of the run or the recipe when absent', ['wasm', 'reference', 'cuda']),
  set: configOption,
  out: word('<dir>', 'with --api tinker: also write what clients save under a name into this folder'),
  outGib: whole(
    '<n>',
    'with --out: nothing more is saved under a name once the folder has this many GiB; 16 when absent',
  ),
};
type ServeCall = CallOf<typeof parts> & CallOf<typeof options>;

export const serveCommand = command({
  arguments: parts,
  options,
  examples: [
    'gq serve runs/activation-1',
    'gq serve runs/activation-1 --state deployed --port 8001',
    'gq serve runs/activation-1 --adapters adapters   # samples for gq train --set sampler.url=…',
    `${tokenVariable}=secret gq serve runs/activation-1 --host 0.0.0.0`,
    'gq serve micro-activation --api tinker',
    'gq serve micro-activation --api tinker --set adapter.rank=8 --out saved',
  ],
  exits: { 0: 'ended by Ctrl-C' },
  async run(call, context) {
    const [form, absent] =
      call.api === 'tinker'
        ? ['with --api tinker', ['state', 'update', 'adapters']]
        : ['without --api tinker', ['set', 'out', 'outGib']];
    expectAbsent(call, absent, form);
    const token = tokenFor(call.host);
    using interruption = onInterrupt(context.stderr, 'closing connections');
    const { signal } = interruption;
    const warn = (message: string) => context.stderr.write(`${message}\n`);
    await using lab = await (call.api === 'tinker'
      ? openRecipe(call, signal)
      : openServed(call.run, askedOf(call), signal));
    const { url, about } = await (call.api === 'tinker' ? serveTraining : servePolicy)(lab, call, token, warn);
    await untilStopped(url, about, token, signal, context);
  },
});

/** Says where a server answers, what, and whom; ends when it is stopped. */
export async function untilStopped(
  url: string,
  about: string,
  token: string | null,
  signal: AbortSignal,
  { stdout, stderr }: CommandContext,
): Promise<void> {
  stdout.write(`${url}\n`);
  const allowed = token === null ? 'for programs of this machine' : `for those who know ${tokenVariable}`;
  stderr.write(`${about}; ${allowed}; Ctrl-C ends it\n`);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
}

type Warn = (message: string) => unknown;
type Served = { readonly url: string; readonly about: string };

const askedOf = ({ state, ...call }: ServeCall) => ({ ...call, states: state === undefined ? servedStates : [state] });

async function servePolicy(lab: Lab, call: ServeCall, token: string | null, warn: Warn): Promise<Served> {
  const { host, port, rows } = call;
  const policy = await openPolicy(lab, askedOf(call));
  const { url } = lab.use(await PolicyServer.start(policy, { host, port, token, warn }));
  const { states, name, batch } = policy;
  const about = `${name}: ${states.join(', ')} (the model of a request); ${rows} rows of at most ${batch.context} tokens`;
  return { url, about };
}

async function openRecipe({ run: recipe, set, device, context, out }: ServeCall, signal: AbortSignal): Promise<Lab> {
  if (out !== undefined) expectWritable(`--out ${out}`, out);
  const { config } = await resolveConfig(recipe, set);
  return openLab({ config }, { work: 'unplanned', call: `serve ${recipe}`, signal, device, context });
}

async function serveTraining(lab: Lab, call: ServeCall, token: string | null, warn: Warn): Promise<Served> {
  const { host, port, rows, context, out, outGib } = call;
  const [asked, limits] = [
    { host, port, token, rows, warn },
    outGib === undefined ? {} : { diskBytes: outGib * 2 ** 30 },
  ];
  const { url, service } = lab.use(
    await TinkerServer.start(lab, { ...asked, limits, context: context ?? null, folder: out ?? null }),
  );
  const about = `${service.baseModel}: to train by Tinker's API; ${rows} rows of at most ${service.sampling.context} tokens`;
  return { url, about };
}
