/** A number that every record of one program carries: a record without it was not written by the harness. */
export const drawNonce = (): number => crypto.getRandomValues(new Uint32Array(1))[0];
