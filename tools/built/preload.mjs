// Loaded before the program of each process and thread that a long test starts, where our packages are built: tools/built.ts says which programs load them so. Plain JavaScript,
// because it is loaded hundreds of times.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const file = process.env['BUILT_PACKAGES']
if (file !== undefined) {
  const { entries, programs } = JSON.parse(readFileSync(file, 'utf8'))
  /** The packages that the program has from their sources: null for all, undefined before its own file is known. */
  let fromSources
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      if (fromSources === undefined)
        fromSources = context.parentURL === undefined ? (programs[resolved.url] ?? null) : null
      const entry = fromSources === null ? undefined : entries[resolved.url]
      if (entry === undefined || fromSources.includes(entry.of)) return resolved
      return { ...resolved, url: entry.url, format: 'module' }
    },
  })
}
