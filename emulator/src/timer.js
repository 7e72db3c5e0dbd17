// The timer's alarms, which rp2040js fires up to a microsecond early.

const ALARM0 = 0x10;
const ALARM3 = 0x1c;
/** Rounding error of a sum of times, less than any instruction takes. */
const HAIR_NANOS = 0.01;

/**
 * Fires alarms when the microsecond counter reaches them. A handler called earlier finds the time
 * not reached and sets the alarm again, as embassy-rp does without reading the time again: with a slow
 * clock the time may then be over, and the alarm is next due in 72 minutes.
 */
export function fireInTime(timer) {
  const write = timer.writeUint32.bind(timer);
  timer.writeUint32 = (offset, value) => {
    write(offset, value);
    if (offset < ALARM0 || offset > ALARM3) return;
    const { nanos } = timer.clock;
    const count = Math.floor(nanos / 1000);
    const ahead = (value - count) >>> 0;
    const due = Math.max((count + ahead) * 1000 - nanos, 0);
    timer.alarms[(offset - ALARM0) / 4].clockAlarm.schedule(due + HAIR_NANOS);
  };
}
