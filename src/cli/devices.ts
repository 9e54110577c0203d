/** The devices a command can be told to use. What was asked for works or the command fails; there is no other device instead. */
import { UserError } from '../base/errors.ts';
import { nearestName } from '../base/nearest.ts';
import type { Device } from '../engine/index.ts';

const openers: Readonly<Record<string, () => Promise<Device>>> = {
  reference: async () => (await import('../engine/reference/index.ts')).createReferenceDevice(),
  wasm: async () => (await import('../engine/wasm/index.ts')).createWasmDevice(),
};

export const deviceNames = Object.keys(openers);

export async function openDevice(name: string): Promise<Device> {
  const open = openers[name];
  if (open !== undefined) return open();
  const nearest = nearestName(name, deviceNames);
  throw new UserError({
    call: '--device',
    expected: deviceNames.join(' or '),
    found: name,
    ...(nearest === undefined ? {} : { fix: `Did you mean ${nearest}?` }),
  });
}
