/**
 * A client that speaks HTTP/2 frame by frame, because Node's own always ends a request before it gives it up. It knows
 * one request, on stream 1, and pings.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

const FRAME_HEAD = 9;
const TYPES = { data: 0, headers: 1, rstStream: 3, settings: 4, ping: 6 } as const;
const END_HEADERS = 4;
const END_STREAM = 1;
const ACK = 1;
const INITIAL_WINDOW_SIZE = 4;
const CANCEL = Buffer.from([0, 0, 0, 8]);

export class FrameClient {
  #received: Buffer = Buffer.alloc(0);
  #pongs = 0;
  #pings = 0;

  private constructor(private readonly socket: Socket) {
    socket.on('data', (bytes) => this.#read(bytes));
    socket.on('error', () => {}); // The server may close it; tests look at the server.
  }

  /** @param window bytes of an answer that the server may send before it is asked for more; unset: HTTP/2's own */
  static async open(t: TestContext, address: string, window?: number): Promise<FrameClient> {
    const at = address.lastIndexOf(':');
    const socket = connect(Number(address.slice(at + 1)), address.slice(0, at));
    t.after(() => socket.destroy());
    await once(socket, 'connect');
    const client = new FrameClient(socket);
    client.#send(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame('settings', 0, 0, windowSetting(window)));
    return client;
  }

  /** The head of a gRPC call and its message, without the end of the request. */
  begin(path: string, message: Uint8Array, headers: Readonly<Record<string, string>> = {}): void {
    const fields = {
      ':path': path,
      ':authority': 'test',
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    };
    // 0x83 is `:method: POST` and 0x86 `:scheme: http` of HPACK's static table.
    const block = [Buffer.from([0x83, 0x86]), ...Object.entries(fields).map(([name, value]) => literal(name, value))];
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    this.#send(
      frame('headers', END_HEADERS, 1, Buffer.concat(block)),
      frame('data', 0, 1, Buffer.concat([head, message])),
    );
  }

  end(): void {
    this.#send(frame('data', END_STREAM, 1, Buffer.alloc(0)));
  }

  cancel(): void {
    this.#send(frame('rstStream', 0, 1, CANCEL));
  }

  /** The connection breaks. */
  break(): void {
    this.socket.destroy();
  }

  /** Resolves when the server has read everything that was sent so far. */
  async ping(): Promise<void> {
    this.#pings += 1;
    this.#send(frame('ping', 0, 0, Buffer.alloc(8)));
    while (this.#pongs < this.#pings) await once(this.socket, 'data');
  }

  #send(...parts: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(parts));
  }

  #read(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    while (this.#received.length >= FRAME_HEAD) {
      const size = FRAME_HEAD + this.#received.readUIntBE(0, 3);
      if (this.#received.length < size) return;
      if (this.#received[3] === TYPES.ping && this.#received[4] === ACK) this.#pongs += 1;
      this.#received = this.#received.subarray(size);
    }
  }
}

function windowSetting(window: number | undefined): Buffer {
  if (window === undefined) return Buffer.alloc(0);
  const setting = Buffer.alloc(6);
  setting.writeUInt16BE(INITIAL_WINDOW_SIZE, 0);
  setting.writeUInt32BE(window, 2);
  return setting;
}

function frame(type: keyof typeof TYPES, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = TYPES[type];
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A header that no table keeps, without Huffman; both texts below 127 bytes. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);
}
