import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { StoreError } from '@ku0/agent-runtime-core'

const entry = '@ku0/agent-runtime-persistence/store-worker'
const remedy =
  'keep @ku0/agent-runtime-persistence and better-sqlite3 out of the bundle and install them beside it (docs/bundlers.md)'

/**
 * The file that the store's thread runs: where the package is installed, or `store-worker.js` beside the module at `url`, which a bundler may have moved, or beside the
 * program. A bundle in the format of CommonJS knows no URL, and webpack writes that of the machine which built it. Throws `store_thread_missing`.
 */
export function threadProgram(
  url: string | undefined = import.meta.url,
  program: string = process.argv[1] ?? './program.js',
  resolve: (from: string) => string = (from) => createRequire(from).resolve(entry),
): string {
  const start = pathToFileURL(program).href
  const base = url === undefined || url === '' ? start : url
  const places = [...new Set([base, start].map((place) => fileURLToPath(new URL('store-worker.js', place))))]
  try {
    return resolve(base)
  } catch (cause) {
    const beside = places.find((place) => existsSync(place))
    if (beside !== undefined) return beside
    throw new StoreError(
      'store_thread_missing',
      `the file of the store's thread is missing: ${fileURLToPath(base)} finds no ${entry}, and there is no ${places.join(' and no ')}; ` +
        `if the program is bundled, ${remedy}, or copy dist/store-worker.js of the package beside the bundle`,
      { cause },
    )
  }
}

/** What to tell a user about an error that the thread ended with before its first word. */
export function errorOfThread(error: Error, program: string): Error {
  const { code } = error as { code?: unknown }
  const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
  if (!isMissing && !/bindings|\.node\b/.test(error.message)) return error
  return new StoreError(
    'store_thread_missing',
    `the store's thread cannot load the database driver from ${program}: ${error.message.split('\n', 1)[0]}; ` +
      `install better-sqlite3, and if the program is bundled, ${remedy}`,
    { cause: error },
  )
}
