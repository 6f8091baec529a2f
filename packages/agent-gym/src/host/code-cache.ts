import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Where processes that run one after the other keep their compiled code, so that only the first one compiles it: the folder that
 * `NODE_COMPILE_CACHE` names, as a run of the tests does, or one of its own, which goes with it.
 */
export class CodeCache {
  readonly folder: string
  readonly #isOwn: boolean

  constructor(given: string | undefined) {
    this.#isOwn = given === undefined
    this.folder = given ?? mkdtempSync(join(tmpdir(), 'gym-code-'))
  }

  static open(): CodeCache {
    return new CodeCache(process.env['NODE_COMPILE_CACHE'])
  }

  [Symbol.dispose](): void {
    if (this.#isOwn) rmSync(this.folder, { recursive: true, force: true })
  }
}
