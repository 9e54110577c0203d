/** `gq serve RUN`: the policy of a run over HTTP, in the form of OpenAI's API, until Ctrl-C. */
import { UserError } from '../../base/index.ts';
import { isLoopback } from '../../base/node/index.ts';
import { onInterrupt } from '../../lab/index.ts';
import { openPolicy, openServed, PolicyServer, servedStates } from '../../serve/index.ts';
import { argument, choice, command, mostAtOnce, whole, word } from '../command.ts';
import { portOption, tokenFrom, updateOption } from '../shared.ts';

const tokenVariable = 'GQ_SERVE_TOKEN';

function tokenFor(host: string): string | null {
  const token = tokenFrom(tokenVariable, 'gq serve');
  if (token !== null || isLoopback(host)) return token;
  throw new UserError({
    call: `gq serve --host ${host}`,
    expected: `a token in ${tokenVariable}, since other machines can reach this address`,
    found: 'none',
    fix: `Set one, such as: export ${tokenVariable}=$(openssl rand -hex 16)`,
  });
}

export const serveCommand = command({
  arguments: { run: argument('<run>', 'a run directory') },
  options: {
    state: choice('<name>', 'serve this state alone; without it all three, each as a model of its name', [
      'deployed',
      'trained',
      'base',
    ]),
    host: word('<address>', `the address to listen on; one that others can reach needs ${tokenVariable}`, '127.0.0.1'),
    port: portOption(8000),
    rows: whole('<n>', 'most completions that are made at a time', { usual: 64, most: mostAtOnce }),
    context: whole('<n>', "most tokens of a prompt and its completion; the run's own when absent"),
    update: updateOption,
    device: choice('<name>', "the device; the run's own when absent", ['wasm', 'reference', 'cuda']),
  },
  examples: [
    'gq serve runs/activation-1',
    'gq serve runs/activation-1 --state deployed --port 8001',
    `${tokenVariable}=secret gq serve runs/activation-1 --host 0.0.0.0`,
  ],
  exits: { 0: 'ended by Ctrl-C' },
  async run({ run: path, state, host, port, rows, context: tokens = null, update = null, device = null }, context) {
    const token = tokenFor(host);
    using interruption = onInterrupt(context.stderr, 'closing connections');
    const asked = { states: state === undefined ? servedStates : [state], rows, context: tokens, update, device };
    await using lab = await openServed(path, asked, interruption.signal);
    const policy = await openPolicy(lab, asked);
    const warn = (message: string) => context.stderr.write(`${message}\n`);
    await using server = await PolicyServer.start(policy, { host, port, token, warn });
    const { states, name, batch } = policy;
    context.stdout.write(`${server.url}\n`);
    context.stderr.write(
      `${name}: ${states.join(', ')} (the model of a request); ${rows} rows of at most ${batch.context} tokens; ` +
        `${token === null ? 'for programs of this machine' : `for those who know ${tokenVariable}`}; Ctrl-C ends it\n`,
    );
    if (interruption.signal.aborted) return;
    await new Promise((resolve) => interruption.signal.addEventListener('abort', resolve));
  },
});
