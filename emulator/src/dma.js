// Timing of a DMA that only the bus paces: rp2040js moves a whole block at once.
// Here a transfer takes a cycle, and one that reads flash waits for it as a core does.

const PERMANENT = 0x3f;
const FLASH = 0x1;
const FLASH_END = 0x14000000;

/**
 * @param {import('rp2040js').RP2040} chip the chip
 * @param {import('./xip.js').Xip} xip the flash cache
 */
export function paceDma(chip, xip) {
  for (const channel of chip.dma.channels) {
    const schedule = channel.scheduleTransfer.bind(channel);
    channel.scheduleTransfer = () => {
      if (channel.treqValue === PERMANENT) {
        const cycles = 1 + wait(channel.readAddr, xip);
        channel.transferAlarm.schedule((cycles * 1e9) / chip.clkSys);
      } else {
        schedule();
      }
    };
  }
}

function wait(address, xip) {
  if (address >>> 28 !== FLASH || address >= FLASH_END) return 0;
  return Math.max(xip.read(address, false, 0), 0);
}
