import type { Digest } from '../config/environment.ts'

interface NodeCrypto {
  createHash(name: 'sha256'): { update(bytes: Uint8Array): { digest(): Uint8Array } }
  hash(name: 'sha256', text: string, encoding: 'hex'): string
}

/**
 * Core is compiled without the types of any platform. Tests run on Node.js, which provides its modules in
 * this way.
 */
declare const process: { getBuiltinModule(name: 'node:crypto'): NodeCrypto }

const nodeCrypto = process.getBuiltinModule('node:crypto')

/** SHA-256 by Node.js, for tests and simulations. */
export const testDigest: Digest = {
  sha256: (bytes) => nodeCrypto.createHash('sha256').update(bytes).digest(),
  sha256Hex: (text) => nodeCrypto.hash('sha256', text, 'hex'),
}
