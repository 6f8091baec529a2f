import type { Random } from '../config/environment.ts'
import { RuntimeError } from '../error/errors.ts'

/**
 * Chance that repeats: the same seed gives the same draws on every machine and version. The generator is
 * sfc32 (public domain, from PractRand) with a period of at least 2^32; it is no source of secrets.
 */
export class SeededRandom implements Random {
  readonly #seed: string
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number | string) {
    this.#seed = String(seed)
    this.#a = hash(this.#seed, 0x9e37_79b9)
    this.#b = hash(this.#seed, 0x243f_6a88)
    this.#c = hash(this.#seed, 0xb7e1_5162)
    for (let i = 0; i < 12; i += 1) this.bits()
  }

  /** 32 random bits, as a whole number from 0. */
  bits(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return sum >>> 0
  }

  next(): number {
    return this.bits() / 0x1_0000_0000
  }

  /** A whole number from 0 to below `n`; `n` is whole, from 1 to 2^32. */
  int(n: number): number {
    if (!Number.isInteger(n) || n < 1 || n > 0x1_0000_0000) {
      throw new RuntimeError('invalid_argument', `a bound is a whole number from 1 to 2^32, not ${n}`)
    }
    return Math.floor(this.next() * n)
  }

  /** One of the items, each as likely as the next. Throws `invalid_argument` for an empty list. */
  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RuntimeError('invalid_argument', 'there is nothing to pick from')
    return items[this.int(items.length)] as T
  }

  /**
   * A generator of its own for one purpose: its draws depend on the seed and the label, not on what was drawn
   * here.
   */
  fork(label: string): SeededRandom {
    return new SeededRandom(`${this.#seed}\n${label}`)
  }
}

/** A 32-bit hash of a text: FNV-1a over its UTF-16 units, its bits then mixed as in MurmurHash3. */
function hash(text: string, start: number): number {
  let mixed = start
  for (let i = 0; i < text.length; i += 1) mixed = Math.imul(mixed ^ text.charCodeAt(i), 0x0100_0193)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35)
  return mixed ^ (mixed >>> 16)
}
