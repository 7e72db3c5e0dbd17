// The serial interface to the flash chip: rp2040js's model, which answers commands with zeros,
// extended to detect when it is configured to read the flash as memory.

const SSIENR = 0x08;
/** Fields of CTRLR0 and SPI_CTRLR0. */
const QUAD = 2;

/**
 * Makes `flash` readable again once a boot loader has configured the interface.
 *
 * @param {object} ssi rp2040js's model
 * @param {import('./nor.js').NorFlash} flash the flash chip
 */
export function watchSetUp(ssi, flash) {
  const write = ssi.writeUint32.bind(ssi);
  ssi.writeUint32 = (offset, value) => {
    write(offset, value);
    const format = (ssi.crtlr0 >>> 21) & 3;
    const command = ssi.spictlr0 >>> 24;
    if (offset === SSIENR && value === 1 && format === QUAD && command !== 0) flash.readable = true;
  };
}

/** The configuration that the boot ROM leaves after commands to the chip. */
export function leaveSerial(ssi) {
  ssi.crtlr0 = 0;
  ssi.spictlr0 = 0;
}
