/**
 * Loaded before a program: its clock goes back by an hour, and it says so. That is two seconds after it begins, or when it has looked at the
 * clock as often as GQ_CLOCK_LOOKS says: a program may be faster than two seconds.
 */
import { writeSync } from 'node:fs';

const RealDate = Date;
const begun = performance.now();
const mostLooks = Number(process.env.GQ_CLOCK_LOOKS ?? Number.POSITIVE_INFINITY);
let looks = 0;
let isBack = false;

function offset() {
  looks++;
  if (!isBack && (looks > mostLooks || performance.now() - begun > 2000)) {
    isBack = true;
    writeSync(2, 'the clock went back\n');
  }
  return isBack ? -3_600_000 : 0;
}

globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + offset());
    else super(...given);
  }
  static now() {
    return RealDate.now() + offset();
  }
};
