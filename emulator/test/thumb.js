// A small Thumb assembler for the instructions of the tests.

export const movs = (rd, value) => 0x2000 | (rd << 8) | value;
export const lsls = (rd, rm, count) => (count << 6) | (rm << 3) | rd;
export const adds = (rd, rn, rm) => 0x1800 | (rm << 6) | (rn << 3) | rd;
export const addImmediate = (rd, value) => 0x3000 | (rd << 8) | value;
export const subImmediate = (rd, value) => 0x3800 | (rd << 8) | value;
export const cmp = (rn, value) => 0x2800 | (rn << 8) | value;
export const ldr = (rt, rn, offset) => 0x6800 | ((offset >> 2) << 6) | (rn << 3) | rt;
export const str = (rt, rn, offset) => 0x6000 | ((offset >> 2) << 6) | (rn << 3) | rt;
export const blx = (rm) => 0x4780 | (rm << 3);
export const NOP = 0xbf00;
export const WFE = 0xbf20;
export const WFI = 0xbf30;
export const SEV = 0xbf40;
export const BX_LR = 0x4770;
export const HALT = 0xe7fe;

/** A branch from the instruction at `from` to the one at `to`, both counted in instructions. */
export const b = (from, to) => 0xe000 | ((to - from - 2) & 0x7ff);
export const beq = (from, to) => 0xd000 | ((to - from - 2) & 0xff);
export const bne = (from, to) => 0xd100 | ((to - from - 2) & 0xff);

/** `rd = high << 24`: the base of RAM or of the SIO. */
export const base = (rd, high) => [movs(rd, high), lsls(rd, rd, 24)];

const FLASH = 0x10000000;
export const VECTORS = FLASH + 0x100;

/**
 * A flash image whose core 0 starts at the first of `programs`.
 *
 * @param {number[][]} programs halfwords of each
 * @param {Record<number, number>} vectors exception number to the program that handles it
 * @returns {{flash: {address: number, bytes: Uint8Array}[], entries: number[]}}
 */
export function image(programs, vectors = {}) {
  const entries = [];
  const flash = programs.map((program, index) => {
    const address = FLASH + 0x1000 * (index + 1);
    entries.push(address | 1);
    return { address, bytes: new Uint8Array(Uint16Array.from(program).buffer) };
  });
  const table = new Uint32Array(48);
  table.set([0x20001000, entries[0]]);
  for (const [number, program] of Object.entries(vectors)) table[number] = entries[program];
  flash.push({ address: VECTORS, bytes: new Uint8Array(table.buffer) });
  return { flash, entries };
}
