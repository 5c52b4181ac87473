import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';

/** The hash class that the SDK's signer requires. The tests compare our signatures with that signer's. */
export class Sha256 {
  private hash: Hash | Hmac;

  constructor(private readonly secret?: string | ArrayBuffer | ArrayBufferView) {
    this.hash = this.start();
  }

  update(bytes: string | Uint8Array): void {
    this.hash.update(bytes);
  }

  async digest(): Promise<Uint8Array> {
    return new Uint8Array(this.hash.digest());
  }

  reset(): void {
    this.hash = this.start();
  }

  private start(): Hash | Hmac {
    return this.secret === undefined
      ? createHash('sha256')
      : createHmac('sha256', this.secret as string | Uint8Array);
  }
}
