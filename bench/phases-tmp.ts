import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assemble, openInputs, Resources, resolveBuiltin } from '../src/lab/index.ts';
import { VerdictLedger } from '../src/oracle/index.ts';
const updates = Number(process.argv[2] ?? 10);
const { config } = resolveBuiltin(process.argv[3] ?? 'recipes/micro-activation.toml', [`updates=${updates}`, `device.threads=${process.argv[4] ?? 2}`, 'model="micro"', 'optimiser.learningRate=1e-9', 'arm.warmupRows=1']);
const folder = mkdtempSync(join(tmpdir(), 'gq-bench-'));
const statOf = (pid: string, children: boolean): number => {
  try { const f = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' '); return (Number(f[11]) + Number(f[12]) + (children ? Number(f[13]) + Number(f[14]) : 0)) / 100; } catch { return 0; }
};
let kids: string[] = [];
const findKids = () => { const parents = new Map<string,string>(); for (const n of readdirSync('/proc').filter((x) => /^\d+$/.test(x))) { try { parents.set(n, readFileSync(`/proc/${n}/stat`, 'utf8').split(') ').at(-1)!.split(' ')[1]); } catch {} } kids = [...parents.keys()].filter((n) => { let x: string|undefined = parents.get(n); while (x !== undefined && x !== '0') { if (x === String(process.pid)) return true; x = parents.get(x); } return false; }); };
const now = () => { const { user, system } = process.cpuUsage(); return [performance.now() / 1000, (user + system) / 1e6, kids.reduce((s, k) => s + statOf(k, true), 0)]; };
const total = new Map<string, number[]>();
let phase = 'other'; let at = now(); let counting = false;
const enter = (next: string) => { const t = now(); if (counting) { const sum = total.get(phase) ?? [0, 0, 0]; total.set(phase, sum.map((v, i) => v + t[i] - at[i])); } at = t; phase = next; };
{
  await using resources = new Resources();
  const inputs = await openInputs(config, resources);
  const ledger = resources.use(new VerdictLedger(join(folder, 'verdicts.jsonl')));
  const { trainer, clock } = await assemble(config, inputs, ledger, resources);
  const own = clock.enter.bind(clock);
  clock.enter = (next: never) => { (globalThis as any).PH = next; enter(next); own(next); };
  let done = 0; let rollouts = 0; let trained = 0; let execs = 0;
  for await (const event of trainer.train()) {
    if (event.kind === 'rollouts' && counting) { rollouts += event.records.length; trained += event.records.filter((r: any) => r.trained).length; for (const r of event.records) execs += ledger.of((r as any).rollout.id).executions; }
    if (event.kind === 'step') { done += 1; enter('other'); if (done === 2) { findKids(); counting = true; at = now(); } ledger.forget(); }
  }
  enter('end');
  const n = updates - 2;
  console.log(`per update: rollouts ${rollouts / n} trained ${trained / n} executions ${execs / n} workers ${kids.length}`);
  for (const [name, [wall, own2, child]] of total) console.log(name.padEnd(8), 'wall', (wall / n).toFixed(4), 'own cpu', (own2 / n).toFixed(4), 'children', (child / n).toFixed(4));
  const sum = [...total.values()].reduce((s, v) => s.map((x, i) => x + v[i]), [0, 0, 0]).map((v) => (v / n).toFixed(4)); console.log('total', sum.join(' '));
}

const S = (globalThis as any).JS as Map<string, any> | undefined;
if (S) { const rows = [...S].map(([k, e]) => { const r = e.ts.sort((a: number, b: number) => a - b); const trimmed = r.slice(0, Math.ceil(r.length * 0.9)); const mean = trimmed.reduce((x: number, y: number) => x + y, 0) / trimmed.length; return { k, n: e.n / updates, ms: mean * e.n / updates, gf: e.f / e.n / mean / 1e6 }; });
 const groups = new Map<string, any>(); for (const r of rows) { const k = r.k.replace(/r\d+ /, (m: string) => Number(m.slice(1)) > 64 ? 'R>64 ' : 'r<=64 '); const g = groups.get(k) ?? { k, n: 0, ms: 0 , gf: 0}; g.n += r.n; g.ms += r.ms; g.gf = r.gf; groups.set(k, g); }
 const total = rows.reduce((x, r) => x + r.ms, 0); console.log('job ms per update', total.toFixed(1));
 for (const r of [...groups.values()].sort((a, b) => b.ms - a.ms).slice(0, 60)) console.log(r.ms.toFixed(2).padStart(8), r.n.toFixed(1).padStart(8), (r.gf ?? 0).toFixed(1).padStart(7), r.k); }
rmSync(folder, { recursive: true });
