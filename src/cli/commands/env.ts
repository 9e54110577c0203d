/** `gq env serve RECIPE`: the problems of a recipe with their grader, as an environment for trainers of others, until Ctrl-C. */
import { onInterrupt, openLab, resolveConfig } from '../../lab/index.ts';
import { OpenEnvServer, OrsServer, openEnvironment } from '../../serve/index.ts';
import { choice, command, flag, needed, word } from '../command.ts';
import { configOption, portOption } from '../shared.ts';
import { tellOn } from '../terminal/progress.ts';
import { tokenFor, tokenVariable, untilStopped } from './serve.ts';

const servers = { ors: OrsServer, openenv: OpenEnvServer } as const;

export const serveEnvironmentCommand = command({
  arguments: { recipe: word('[recipe]', 'recipe whose problems, loopholes and grader to serve') },
  options: {
    protocol: needed(choice('<name>', 'whose words are spoken', ['ors', 'openenv'])),
    labels: flag('also tell each answer whether it is an attempt, a hack, correct; without it rewards alone are told'),
    set: configOption,
    host: word('<address>', `the address to listen on; one that others can reach needs ${tokenVariable}`, '127.0.0.1'),
    port: portOption(8080),
  },
  examples: [
    'gq env serve micro-base --protocol ors',
    'gq env serve easy-base --protocol openenv --port 8001 --labels',
    'gq env serve micro-base --protocol ors --set environment.loopholes=\'["sentinel"]\'',
    `${tokenVariable}=secret gq env serve micro-base --protocol openenv --host 0.0.0.0`,
  ],
  exits: { 0: 'ended by Ctrl-C' },
  async run({ recipe, protocol, labels, set, host, port }, context) {
    const token = tokenFor(host, 'gq env serve');
    const { config } = await resolveConfig(recipe ?? null, set);
    using interruption = onInterrupt(context.stderr, 'closing connections');
    const { signal } = interruption;
    await using lab = await openLab({ config }, { work: 'unplanned', signal, warn: tellOn(context) });
    const environment = await openEnvironment(lab, labels);
    const warn = (message: string) => context.stderr.write(`${message}\n`);
    await using server = await servers[protocol].start(environment, { host, port, token, warn });
    const splits = environment.splits.map(({ name, tasks }) => `${name} ${tasks.length}`).join(', ');
    const told = labels ? 'rewards, and labels marked as such' : 'rewards alone';
    await untilStopped(server.url, `${environment.name} by ${protocol}: ${splits}; ${told}`, token, signal, context);
  },
});
