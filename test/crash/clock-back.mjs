/** Loaded before a program: two seconds after it begins, its clock goes back by an hour. */
const RealDate = Date;
const begun = performance.now();
const offset = () => (performance.now() - begun > 2000 ? -3_600_000 : 0);
globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + offset());
    else super(...given);
  }
  static now() {
    return RealDate.now() + offset();
  }
};
