import type { Digest } from '../config/environment.ts'

/**
 * SHA-256 (FIPS 180-4) without the platform, so that core's own tests and simulations need nothing from
 * outside. Some twenty times slower than the platform's: for tests only.
 */
export const testDigest: Digest = {
  sha256,
  sha256Hex: (text) => [...sha256(utf8(text))].map((byte) => byte.toString(16).padStart(2, '0')).join(''),
}

/** The UTF-8 bytes of a text; a lone surrogate becomes U+FFFD. Core has no TextEncoder. */
export function utf8(text: string): Uint8Array {
  const bytes: number[] = []
  for (const character of text.toWellFormed()) {
    const code = character.codePointAt(0) ?? 0
    if (code < 0x80) bytes.push(code)
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), continuation(code))
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), continuation(code >> 6), continuation(code))
    else
      bytes.push(0xf0 | (code >> 18), continuation(code >> 12), continuation(code >> 6), continuation(code))
  }
  return Uint8Array.from(bytes)
}

function sha256(bytes: Uint8Array): Uint8Array {
  const padded = pad(bytes)
  const words = new DataView(padded.buffer)
  const state = Int32Array.from(initial)
  for (let block = 0; block < padded.length; block += 64) compress(state, words, block)
  const digest = new Uint8Array(32)
  const out = new DataView(digest.buffer)
  for (const [i, word] of state.entries()) out.setInt32(i * 4, word)
  return digest
}

/** The message, a one bit, zeros, and the message's length in bits, to a multiple of 64 bytes. */
function pad(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64)
  padded.set(bytes)
  padded[bytes.length] = 0x80
  new DataView(padded.buffer).setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n)
  return padded
}

function compress(state: Int32Array, words: DataView, block: number): void {
  const w = new Int32Array(64)
  for (let i = 0; i < 16; i += 1) w[i] = words.getInt32(block + i * 4)
  for (let i = 16; i < 64; i += 1) {
    const early = at(w, i - 15)
    const late = at(w, i - 2)
    const mixedEarly = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3)
    const mixedLate = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10)
    w[i] = at(w, i - 16) + mixedEarly + at(w, i - 7) + mixedLate
  }
  const round = Int32Array.from(state)
  for (let i = 0; i < 64; i += 1) {
    const a = at(round, 0)
    const e = at(round, 4)
    const choice = (e & at(round, 5)) ^ (~e & at(round, 6))
    const majority = (a & at(round, 1)) ^ (a & at(round, 2)) ^ (at(round, 1) & at(round, 2))
    const first =
      at(round, 7) + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + at(constants, i) + at(w, i)
    const second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority
    round.copyWithin(1, 0, 7)
    round[4] = at(round, 4) + first
    round[0] = first + second
  }
  for (let i = 0; i < 8; i += 1) state[i] = at(state, i) + at(round, i)
}

/** The first 64 primes: SHA-256 draws its constants from their roots. */
const primes = Array.from({ length: 312 }, (_, i) => i).filter(isPrime)
/** The first 32 bits of the fractions of the square roots of the first eight. */
const initial = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)))
/** The first 32 bits of the fractions of the cube roots of all. */
const constants = Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)))

function isPrime(n: number): boolean {
  for (let i = 2; i * i <= n; i += 1) if (n % i === 0) return false
  return n > 1
}

function fraction(root: number): number {
  return ((root % 1) * 0x1_0000_0000) | 0
}

function continuation(bits: number): number {
  return 0x80 | (bits & 0x3f)
}

function turn(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits))
}

function at(words: Int32Array, i: number): number {
  return words[i] as number
}
