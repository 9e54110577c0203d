// Every kernel by number. A kernel is (arguments, shard): it writes only its own shard's part.
import { gemm } from './gemm';
import { pack } from './pack';

/** The host reads these as exported globals `Job.name`. */
export enum Job {
  pack,
  gemm,
}

export function runShard(job: i32, args: usize, shard: i32): void {
  switch (job) {
    case Job.pack: return pack(args, shard);
    case Job.gemm: return gemm(args, shard);
    default: unreachable();
  }
}
