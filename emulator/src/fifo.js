// The mailboxes between the cores: eight words in each direction, with the two sticky error flags
// and the interrupt of each core (datasheet, 2.3.1.4).

const WORDS = 8;
const FLAG = { VALID: 1, READY: 2, WRITTEN_WHEN_FULL: 4, READ_WHEN_EMPTY: 8 };

/** One core's end: the words it reads, and its error flags. */
export class Mailbox {
  /** @param {(high: boolean) => void} interrupt drives the core's SIO interrupt line */
  constructor(interrupt) {
    this.interrupt = interrupt;
    this.words = [];
    this.errors = 0;
    /** The other core's end, set once both exist. */
    this.peer = null;
    /** Called after a word arrived. */
    this.onWord = () => {};
  }

  get status() {
    return (
      (this.words.length > 0 ? FLAG.VALID : 0) |
      (this.peer.words.length < WORDS ? FLAG.READY : 0) |
      this.errors
    );
  }

  /** A write of any value clears the error flags. */
  clearErrors() {
    this.errors = 0;
    this.updateLine();
  }

  push(word) {
    if (this.peer.words.length < WORDS) {
      this.peer.words.push(word >>> 0);
      this.peer.updateLine();
      this.peer.onWord();
    } else {
      this.errors |= FLAG.WRITTEN_WHEN_FULL;
      this.updateLine();
    }
  }

  pop() {
    if (this.words.length === 0) this.errors |= FLAG.READ_WHEN_EMPTY;
    const word = this.words.shift() ?? 0;
    this.updateLine();
    return word;
  }

  drain() {
    this.words = [];
    this.updateLine();
  }

  updateLine() {
    this.interrupt(this.words.length > 0 || this.errors !== 0);
  }
}
