import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A network between a client and a server. It can break or hang. */
export class Relay {
  private readonly sockets = new Set<Socket>();
  private server: Server | undefined;
  private losesNextAnswer = false;
  private isHanging = false;
  /** Number of answers that were lost. */
  lostAnswers = 0;

  private constructor(
    private target: URL,
    private readonly port: number,
  ) {}

  static async start(target: string): Promise<Relay> {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    await new Promise((resolve) => probe.close(resolve));
    const relay = new Relay(new URL(target), port);
    await relay.connect();
    return relay;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Listens, and relays to `target` from now on. */
  async connect(target = this.target.href): Promise<void> {
    this.target = new URL(target);
    this.server = createServer((client) => this.join(client)).listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  /** Drops every connection, and refuses new ones. */
  async cut(): Promise<void> {
    const closed = new Promise((resolve) => this.server?.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /** Accepts connections and bytes from now on, but passes nothing on. */
  hang(): void {
    this.isHanging = true;
    for (const socket of this.sockets) socket.unpipe().pause();
  }

  /** Undoes {@link hang}. Clients must connect again. */
  resume(): void {
    this.isHanging = false;
    for (const socket of this.sockets) socket.destroy();
  }

  /** Forwards the next request, and drops its connection before the answer reaches the client. */
  loseNextAnswer(): void {
    this.losesNextAnswer = true;
  }

  private join(client: Socket): void {
    if (this.isHanging) {
      this.sockets.add(client);
      client.on('error', () => {});
      client.on('close', () => this.sockets.delete(client));
      return;
    }
    const server = connect(Number(this.target.port), this.target.hostname);
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.pipe(server);
    server.on('data', (chunk) => {
      if (!this.losesNextAnswer) {
        client.write(chunk);
        return;
      }
      this.losesNextAnswer = false;
      this.lostAnswers++;
      client.destroy();
    });
  }
}
