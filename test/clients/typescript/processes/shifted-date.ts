/**
 * Loaded before a program whose wall clock shall be wrong. SHIFT: by how many ms; `3600000@200`: it jumps by so many when
 * 200 ms have passed. Timers and the monotonic clock are as they are, as on a machine whose clock somebody sets.
 */
const [shift = 0, after = 0] = (process.env['SHIFT'] ?? '0').split('@').map(Number);
const RealDate = Date;

function now(): number {
  return RealDate.now() + (performance.now() >= after ? shift : 0);
}

globalThis.Date = new Proxy(RealDate, {
  // Without arguments it is now.
  construct: (target, args) => Reflect.construct(target, args.length === 0 ? [now()] : args),
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
