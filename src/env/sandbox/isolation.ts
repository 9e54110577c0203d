/**
 * Layers of isolation, what each covers, and the level they add up to.
 * Level 0: resource limits in a process of its own (not Linux, or an old kernel). Level 1: + only harmless system calls
 * (seccomp) and only Python's own files (Landlock); this needs no privilege and no package. Level 2: + namespaces.
 * Level 3: + a root of its own with a small private disk, in which nothing else exists (what bubblewrap would give).
 * Covered from level 1: files, network, other processes, signals, memory, CPU, descriptors, output, disk (bounded).
 * What one program could tell the next by: memory, pipes and the state of the machine from level 1, numbers of processes from level 2,
 * numbers and times of files from level 3.
 * Not covered: kernel bugs, CPU side channels, the clock, and, below level 3, more than 64 files for up to 50 ms.
 */
export const layerNames = [
  'cgroup',
  'namespaces',
  'privateRoot',
  'ownUid',
  'noPrivileges',
  'landlock',
  'seccomp',
] as const;
export type LayerName = (typeof layerNames)[number];

export const layerCovers: Readonly<Record<LayerName, string>> = {
  cgroup: 'memory, processes and CPU of a worker as a whole; without it, limits of each process',
  namespaces: 'other processes, network devices, shared memory: not visible at all; no message by numbers of processes',
  privateRoot:
    "the file system: only Python's own files exist, with a 32 MiB, 512-file disk to write on, fresh for every process",
  ownUid:
    'files and processes of every other user, root and other workers included; threads are counted for each worker',
  noPrivileges: 'no capability, and no way to regain one',
  landlock: "no file but Python's own for reading, none but the working directory for writing",
  seccomp: 'no socket, pipe, fork, exec, signal, ptrace, chmod, link; no change of shared descriptors',
};

/** For each layer, why it is not active; empty when it is. */
export type LayerReport = Readonly<Record<LayerName, string>>;

export type IsolationLevel = 0 | 1 | 2 | 3;

export function levelOf(report: LayerReport): IsolationLevel {
  const active = (name: LayerName) => report[name] === '';
  const filesClosed = active('landlock') || active('privateRoot');
  if (!active('seccomp') || !active('noPrivileges') || !filesClosed) return 0;
  if (!active('namespaces')) return 1;
  return active('privateRoot') ? 3 : 2;
}

/** What a config or a call asks of the isolation, and the lowest level that satisfies it. */
export const sandboxPolicies = ['auto', 'strict', 'none'] as const;
export type SandboxPolicy = (typeof sandboxPolicies)[number];
export const levelWanted: Readonly<Record<SandboxPolicy, IsolationLevel>> = { auto: 1, strict: 3, none: 0 };
