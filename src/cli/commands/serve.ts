/** `gq serve RUN`: the policy of a run over HTTP, in the form of OpenAI's API, until Ctrl-C. */
import { type Command, Option } from 'commander';
import { UserError } from '../../base/index.ts';
import { isLoopback } from '../../base/node/index.ts';
import { onInterrupt } from '../../lab/index.ts';
import type { OpenPolicyOptions, ServedState } from '../../serve/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { parseCount, parsePort, parseSeed, tokenFrom } from '../values.ts';

interface ServeOptions {
  readonly state?: ServedState;
  readonly host: string;
  readonly port: number;
  readonly rows: number;
  readonly context?: number;
  readonly update?: number;
  readonly device?: NonNullable<OpenPolicyOptions['device']>;
}

const tokenVariable = 'GQ_SERVE_TOKEN';

/** A server that others can reach answers those who know its token. */
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

async function serve(path: string, options: ServeOptions, context: CommandContext): Promise<void> {
  const token = tokenFor(options.host);
  const { openPolicy, openServed, PolicyServer, servedStates } = await import('../../serve/index.ts');
  using interruption = onInterrupt(context.stderr, 'closing connections');
  const asked = {
    states: options.state === undefined ? servedStates : [options.state],
    rows: options.rows,
    context: options.context ?? null,
    update: options.update ?? null,
    device: options.device ?? null,
  };
  await using lab = await openServed(path, asked, interruption.signal);
  const policy = await openPolicy(lab, asked);
  await using server = await PolicyServer.start(policy, {
    host: options.host,
    port: options.port,
    token,
    warn: (message) => context.stderr.write(`${message}\n`),
  });
  const { states, name, batch } = policy;
  context.stdout.write(`${server.url}\n`);
  context.stderr.write(
    `${name}: ${states.join(', ')} (the model of a request); ${options.rows} rows of at most ${batch.context} tokens; ` +
      `${token === null ? 'for programs of this machine' : `for those who know ${tokenVariable}`}; Ctrl-C ends it\n`,
  );
  if (interruption.signal.aborted) return;
  await new Promise((resolve) => interruption.signal.addEventListener('abort', resolve));
}

export function configureServe(command: Command, context: CommandContext): void {
  command
    .argument('<run>', 'a run directory')
    .addOption(
      new Option('--state <name>', 'serve this state alone; without it all three, each as a model of its name').choices(
        ['deployed', 'trained', 'base'],
      ),
    )
    .option(
      '--host <address>',
      `the address to listen on; one that others can reach needs ${tokenVariable}`,
      '127.0.0.1',
    )
    .option('--port <n>', 'the port; 0: any that is free', parsePort, 8000)
    .option('--rows <n>', 'most completions that are made at a time', parseCount, 64)
    .option('--context <n>', "most tokens of a prompt and its completion; the run's own when absent", parseCount)
    .option('--update <n>', 'update of the checkpoint; the last one when absent', parseSeed)
    .addOption(
      new Option('--device <name>', "the device; the run's own when absent").choices(['wasm', 'reference', 'cuda']),
    )
    .addHelpText(
      'after',
      examplesText(
        'gq serve runs/activation-1',
        'gq serve runs/activation-1 --state deployed --port 8001',
        `${tokenVariable}=secret gq serve runs/activation-1 --host 0.0.0.0`,
      ),
    )
    .action((path: string, options: ServeOptions) => serve(path, options, context));
}
