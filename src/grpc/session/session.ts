/** Session: every call of a worker on one stream, which is here grpc-js's and becomes a {@link SessionStream}. */
import type { handleBidiStreamingCall, ServerDuplexStream } from '@grpc/grpc-js';
import { type HandlerContext, internalError } from '../call/handler.js';
import { statusOf } from '../call/status.js';
import type { OpenStreams } from '../call/streams.js';
import { resetStream } from '../call/transport.js';
import { Check } from '../convert/validate.js';
import { FastDecoder } from './codec/fast-decoder.js';
import type { Scheduler } from './flow.js';
import { SessionStream } from './stream.js';

type Call = ServerDuplexStream<Buffer, Buffer>;

const SCHEDULER: Scheduler = {
  soon: (task) => void setImmediate(task),
  atEnd: (task) => process.nextTick(task),
  after(ms, task) {
    const timer = setTimeout(task, ms).unref();
    return () => clearTimeout(timer);
  },
};

export function session(context: HandlerContext, streams: OpenStreams): handleBidiStreamingCall<Buffer, Buffer> {
  const sessionKit = {
    ...context,
    ...SCHEDULER,
    check: new Check(context.limits),
    decoder: new FastDecoder(),
  };
  return (call) => {
    let remove: (() => void) | undefined;
    try {
      const stream = new SessionStream(sessionKit, call, {
        reset: () => resetStream(call),
        over: () => remove?.(),
      });
      const opened = context.portOf(call).openSession(stream);
      if (!opened.ok) {
        call.emit('error', statusOf(opened.refusal));
        return;
      }
      remove = streams.add(call, stream);
      readOneByOne(call);
      stream.start(opened.value);
    } catch (error) {
      call.emit('error', internalError(context, call.getPath(), error));
    }
  };
}

/**
 * A stream of Node reads ahead up to 16 messages while it is paused, 64 MiB of them. Here a paused stream asks for
 * nothing; what its client sends then fills the window of HTTP/2, and the client has to wait.
 */
function readOneByOne(call: Call): void {
  const read = call._read.bind(call);
  let isWanted = false;
  call._read = (size) => {
    if (call.isPaused()) isWanted = true;
    else read(size);
  };
  call.on('resume', () => {
    if (!isWanted) return;
    isWanted = false;
    read(1);
  });
}
