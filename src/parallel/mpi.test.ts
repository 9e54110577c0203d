import { describe, expect, it } from 'vitest';
import { missingMpi, runMpirun } from '../../test/parallel/mpirun.ts';

const missing = missingMpi();
if (missing !== null) process.stderr.write(`the communicator over MPI is not tested: ${missing}\n`);

describe.skipIf(missing !== null)(`the communicator over Open MPI${missing === null ? '' : ` (${missing})`}`, () => {
  it('makes every call between two processes', async () => {
    const { code, out, err } = await runMpirun({ ranks: 2, program: 'every-call.ts' });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(JSON.parse(out)).toEqual({ size: 2, lengths: [0, 100], told: 'from 1', hash: '5cc96c57f9ae8e9f' });
  });
});
