// Core 1 after a reset: the launch protocol of the boot ROM (datasheet, 2.8.2).
//
// It sends 0, then answers every word with the same word: 0, 1, the vector table, the stack and the
// entry point. A wrong word restarts the protocol.

export class Pen {
  /**
   * @param {import('./fifo.js').Mailbox} mailbox core 1's end
   * @param {(vectorTable: number, stack: number, entry: number) => void} launch starts core 1
   */
  constructor(mailbox, launch) {
    this.mailbox = mailbox;
    this.launch = launch;
    this.heard = null;
    mailbox.onWord = () => this.listen();
  }

  /** Core 1 leaves reset: it restarts the protocol. */
  enter() {
    this.mailbox.drain();
    this.heard = [];
    this.mailbox.push(0);
  }

  /** Core 1 is held in reset. */
  leave() {
    this.heard = null;
  }

  listen() {
    if (this.heard === null) return;
    const word = this.mailbox.pop();
    if (word === 0 || (this.heard.length === 0 && word !== 1)) {
      this.enter();
      return;
    }
    this.heard.push(word);
    this.mailbox.push(word);
    if (this.heard.length === 4) {
      const [, vectorTable, stack, entry] = this.heard;
      this.leave();
      this.launch(vectorTable, stack, entry);
    }
  }
}
