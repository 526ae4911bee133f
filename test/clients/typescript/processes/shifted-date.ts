/**
 * Loaded before a program whose wall clock shall be wrong. SHIFT: by how many ms; `3600000@SIGUSR2`: it jumps by so many at that
 * signal. Timers and the monotonic clock are as they are, as on a machine whose clock somebody sets.
 */
const [ms = '0', at] = (process.env['SHIFT'] ?? '').split('@');
const shift = Number(ms);
let isShifted = at === undefined;
if (!isShifted)
  process.once('SIGUSR2', () => {
    isShifted = true;
  });
const RealDate = Date;

function now(): number {
  return RealDate.now() + (isShifted ? shift : 0);
}

globalThis.Date = new Proxy(RealDate, {
  // Without arguments it is now.
  construct: (target, args) => Reflect.construct(target, args.length === 0 ? [now()] : args),
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
