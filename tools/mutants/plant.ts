// Loaded before each worker of `pnpm mutants`: plants the fault that PLANTED names into its source, as Node loads it. Nothing is written, and all other modules come from the
// compiled code of the workers before.
import { readFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { edited } from './edited.ts'
import type { Mutant } from './list.ts'

const given = process.env['PLANTED']
if (given !== undefined) {
  // A thread or a process of a test's own has the sources as they are.
  delete process.env['PLANTED']
  const { name, file, edits } = JSON.parse(given) as Mutant
  const path = resolve(import.meta.dirname, '../..', file)
  const { href } = pathToFileURL(path)
  registerHooks({
    load(url, context, next) {
      if (url !== href) return next(url, context)
      const text = edits.reduce(
        (left, [find, replace]) => edited(left, find, replace, name),
        readFileSync(path, 'utf8'),
      )
      return { format: 'module', source: stripTypeScriptTypes(text), shortCircuit: true }
    },
  })
}
