// Pseudo-random bytes, the same in every run (Marsaglia's xorshift).

/** @returns {() => number} a source of 32-bit numbers */
export function words(seed) {
  let state = (seed ^ 0x2545f491) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

/** Fills memory with noise, as after a power cut. */
export function scramble(bytes, seed) {
  const next = words(seed);
  const view = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
  for (let index = 0; index < view.length; index++) view[index] = next();
}
