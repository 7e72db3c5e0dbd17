// The loadable parts of a 32-bit little-endian ELF file.

const LOAD = 1;

/**
 * Returns the loadable segments of the file.
 *
 * @param {Buffer} file the whole file
 * @param {string} name for the error message
 * @returns {{address: number, bytes: Uint8Array}[]} segments by load address
 */
export function segments(file, name) {
  const magic = file.subarray(0, 6).toString('latin1');
  if (magic !== '\x7fELF\x01\x01') {
    throw new Error(`${name}: not a 32-bit little-endian ELF file; build it with cargo fw-rp2040`);
  }
  const table = file.readUInt32LE(28);
  const entryBytes = file.readUInt16LE(42);
  const count = file.readUInt16LE(44);
  const found = [];
  for (let index = 0; index < count; index++) {
    const entry = table + index * entryBytes;
    const offset = file.readUInt32LE(entry + 4);
    const length = file.readUInt32LE(entry + 16);
    if (file.readUInt32LE(entry) === LOAD && length > 0) {
      const address = file.readUInt32LE(entry + 12);
      found.push({ address, bytes: file.subarray(offset, offset + length) });
    }
  }
  return found;
}
