// The cache between the cores and the flash chip: 16 KB, two ways, lines of 8 bytes whose halves are
// fetched separately (datasheet, 2.6.3).
//
// A miss reads 4 bytes, since the SSI is set to that size: its designer says so in
// raspberrypi/pico-feedback#307. The replacement policy is not documented; least recently used is
// assumed. The flash serves one miss after the other, from either core.

const SETS = 1024;
const WAY_BITS = 1;
const NOTHING = -1;

/**
 * Cycles a miss costs. In the continuous quad mode that boot2-w25q080 sets (CLKDIV 2, SPI_CTRLR0
 * 0xA0002022), address and mode take 8 clocks, the dummies 4 and 4 bytes 8: 40 cycles of the core.
 * Chip select and the SSI come on top: 400 ns a load, 50 cycles, were measured from uncached flash
 * (oberon-rtk.org, "Flash Memory").
 */
export const MISS_CYCLES = 50;

/** Cycles a flush takes (datasheet, 2.6.3.2: "around 2000"). */
const FLUSH_CYCLES = 2000;

/** How an alias of the flash, by bits 24 and 25 of the address, uses the cache. */
const NOALLOC = 1;
const NOCACHE = 2;

export class Xip {
  /**
   * @param {import('./nor.js').NorFlash} flash the flash chip
   * @param {number} missCycles cycles of a miss; 0 for a flash without latency
   * @param {() => number} now cycles since the chip's reset
   */
  constructor(flash, missCycles, now) {
    this.flash = flash;
    this.missCycles = missCycles;
    this.now = now;
    this.enabled = true;
    this.lines = new Int32Array(SETS << WAY_BITS);
    this.halves = new Uint8Array(SETS << WAY_BITS);
    this.recent = new Uint8Array(SETS);
    /** Time at which the flash is free again. */
    this.freeAt = 0;
    this.counts = { reads: 0, misses: 0, codeMisses: 0, waitCycles: 0 };
    this.flush();
  }

  /** Flushes the cache; returns the cycles it takes. */
  flush() {
    this.lines.fill(NOTHING);
    return FLUSH_CYCLES;
  }

  /** Invalidates the line of a written address. */
  invalidate(address) {
    const line = (address & 0xffffff) >>> 3;
    const first = (line & (SETS - 1)) << WAY_BITS;
    for (const way of [first, first + 1]) if (this.lines[way] === line) this.lines[way] = NOTHING;
  }

  /**
   * Reads a word.
   *
   * @param {number} address the address, in any alias
   * @param {boolean} isCode whether an instruction is fetched
   * @param {number} waited cycles the core waited since `now`
   * @returns {number} cycles the core waits, or -1 if the flash does not answer
   */
  read(address, isCode, waited) {
    if (this.missCycles === 0) return this.flash.readable ? 0 : this.lost();
    this.counts.reads += 1;
    if (this.hits(address)) return 0;
    if (!this.flash.readable) return this.lost();
    this.counts.misses += 1;
    if (isCode) this.counts.codeMisses += 1;
    const wait = this.fetch(waited);
    this.counts.waitCycles += wait;
    return wait;
  }

  /** Queues a read of the flash; returns the cycles until its word is there. */
  fetch(waited) {
    const asked = this.now() + waited;
    this.freeAt = Math.max(asked, this.freeAt) + this.missCycles;
    return this.freeAt - asked;
  }

  lost() {
    this.flash.lostReads += 1;
    return -1;
  }

  /** Looks a word up and, after a miss, allocates it. */
  hits(address) {
    const alias = (address >>> 24) & 3;
    if (!this.enabled || alias === (NOALLOC | NOCACHE)) return false;
    const line = (address & 0xffffff) >>> 3;
    const half = address & 4 ? 2 : 1;
    const set = line & (SETS - 1);
    const first = set << WAY_BITS;
    let way = first + this.recent[set];
    if (this.lines[way] !== line) {
      way ^= 1;
      if (this.lines[way] !== line) return this.allocate(set, way, line, half, alias);
      this.recent[set] ^= 1;
    }
    if (this.halves[way] & half) return (alias & NOCACHE) === 0;
    if ((alias & NOALLOC) === 0 && this.flash.readable) this.halves[way] |= half;
    return false;
  }

  /** Replaces the way that was not used last. */
  allocate(set, way, line, half, alias) {
    if ((alias & NOALLOC) === 0 && this.flash.readable) {
      this.lines[way] = line;
      this.halves[way] = half;
      this.recent[set] = way & 1;
    }
    return false;
  }
}
