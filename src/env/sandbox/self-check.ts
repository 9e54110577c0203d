/**
 * Attacks on the host that the sandbox runs against itself at its start, in one program. Each attack prints its name when
 * it takes effect. An honest call in the same program then checks that the worker still works.
 */
import { GraderError } from '../../base/index.ts';
import { encodeBatch, encodeProgramFrame } from './frames.ts';
import { drawNonce } from './nonce.ts';
import type { Ending, Program, SandboxWorker } from './worker.ts';

const attacks = `
import os, socket, ctypes
def attempt(name, action):
    try: action()
    except BaseException: return
    print(name)
def fork():
    if os.fork() == 0: os._exit(0)
def execute():
    try: os.execv('/no-such-program', ['x'])
    except PermissionError: raise
    except OSError: pass
def write_outside():
    # A name that nobody can have prepared, made only if it is new, and removed at once.
    for folder in ('/tmp', '/var/tmp', '/dev/shm', os.path.dirname(os.getcwd())):
        path = os.path.join(folder, 'gq-escape-' + os.urandom(16).hex())
        try: fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW)
        except OSError: continue
        os.unlink(path)
        return os.close(fd)
    raise OSError
libc = ctypes.CDLL(None)
def traced():
    if libc.ptrace(0x4206, os.getppid(), 0, 0) != 0: raise OSError  # PTRACE_SEIZE: does not stop it
attempt('reads /etc/passwd', lambda: open('/etc/passwd').read())
attempt('lists /', lambda: os.listdir('/root') if os.path.exists('/root') else os.listdir('/home'))
attempt('writes outside its directory', write_outside)
attempt('opens a socket', lambda: socket.socket())
attempt('forks', fork)
attempt('runs a program', execute)
attempt('signals its parent', lambda: os.kill(os.getppid(), 0))
attempt('traces its parent', traced)
attempt('reads memory of its parent', lambda: open('/proc/%d/mem' % os.getppid(), 'rb'))
attempt('raises its limits', lambda: __import__('resource').setrlimit(9, (-1, -1)))
`;

const lastLine = 'end of attacks';
const harmless = `
print('${lastLine}')
class Solution:
    def add(self, a, b): return a + b
`;

function probe(source: string, onOutput: (payload: Buffer) => void): Program {
  const batch = encodeBatch([{ positional: [2n, 3n], keywords: [], builders: [], shape: 'plain' }], true);
  const nonce = drawNonce();
  return {
    setupCode: '',
    nonce,
    frame: encodeProgramFrame({ nonce, source, method: 'add', flagNames: [], batch }),
    frameIsSecret: false,
    cpuSeconds: 10,
    wallMs: 30_000,
    largestReportBytes: 10_000,
    onRecord: (tag, payload) => {
      if (tag === 'o') onOutput(payload);
      return undefined;
    },
  };
}

/** Names of the attacks that took effect. Throws when the honest call does not give its answer. */
export async function findEscapes(worker: SandboxWorker): Promise<readonly string[]> {
  const lines = await runProbe(worker, attacks + harmless);
  return lines.slice(0, -1);
}

/** Whether the worker runs a program that does no harm: it tells a broken sandbox from a program that breaks its workers. */
export async function runsHarmless(worker: SandboxWorker): Promise<boolean> {
  return await runProbe(worker, harmless).then(
    () => true,
    () => false,
  );
}

/** The lines that the program prints. Throws when its call does not give its answer. */
async function runProbe(worker: SandboxWorker, source: string): Promise<readonly string[]> {
  let answer = '';
  const ending: Ending = await worker.run(
    probe(source, (payload) => {
      answer = payload.toString('hex');
    }),
  );
  const lines = ending.stdout.split('\n').filter((line) => line !== '');
  if (answer === '6905000000' && ending.exit === 0 && lines.at(-1) === lastLine) return lines;
  throw new GraderError({
    call: 'sandbox self-check',
    expected: 'add(2, 3) to return 5 and the program to end with status 0',
    found: `exit ${ending.exit}, answer "${answer}", output "${ending.stdout.slice(0, 200)}"`,
  });
}
