/** From a definition and settings to a checked arm. What an own definition throws is said with the arm's name. */
import { explainForeign, inTime } from '../base/index.ts';
import type { Arm, ArmDefinition } from './arm.ts';
import type { ArmTools } from './arm-tools.ts';
import { checkArm } from './check-arm.ts';

export async function openArm(definition: ArmDefinition, settings: unknown, tools: ArmTools): Promise<Arm> {
  const { kind } = definition;
  let opened: unknown;
  try {
    opened = await inTime(definition.open(settings, tools), { call: `open the arm ${kind}`, expected: 'an arm' });
  } catch (error) {
    throw explainForeign(error, { call: `open the arm ${kind}`, expected: 'no error' });
  }
  return checkArm(opened, kind);
}
