/** Runs a command of `gq` in this process, and returns its exit code and what it printed. */
import { runCli } from '../src/cli/program.ts';

export async function gq(...argv: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const written = { out: '', err: '' };
  const code = await runCli([...argv], {
    stdout: { write: (text) => (written.out += text) },
    stderr: { write: (text) => (written.err += text) },
  });
  return { code, ...written };
}
