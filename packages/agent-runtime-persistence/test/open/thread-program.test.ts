import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { errorOfThread, threadProgram } from '../../src/line/thread-program.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

/** As Node says it of a package that is not installed. */
const nowhere = () => {
  throw Object.assign(new Error('Cannot find module'), { code: 'MODULE_NOT_FOUND' })
}

test('the program of the thread is found where the package is installed', () => {
  expect(threadProgram()).toMatch(/line[\\/]store-worker\.ts$/)
})

test('a bundle without the package beside it runs the file that was copied beside it', () => {
  const place = scratchFolder()
  const file = join(place, 'store-worker.js')
  writeFileSync(file, '')
  expect(threadProgram(pathToFileURL(join(place, 'bundle.js')).href, '', nowhere)).toBe(file)
  // A bundle in the format of CommonJS has no import.meta.url.
  expect(threadProgram('', join(place, 'bundle.cjs'), nowhere)).toBe(file)
  // One of webpack has that of another machine.
  expect(threadProgram('file:///elsewhere/built.js', join(place, 'bundle.js'), nowhere)).toBe(file)
})

test('a bundle that lacks the file says which one, and what to do', () => {
  const place = scratchFolder()
  const bundle = join(place, 'bundle.js')
  const find = () => threadProgram(pathToFileURL(bundle).href, bundle, nowhere)
  expect(find).toThrow(expect.objectContaining({ name: 'StoreError', code: 'store_thread_missing' }))
  expect(find).toThrow(`there is no ${join(place, 'store-worker.js')}; if the program is bundled, keep @ku0/`)
})

test('a thread that lacks the driver says so; any other error stays what it is', () => {
  const missing = Object.assign(
    new Error("Cannot find package 'better-sqlite3' imported from /app/x.js\nmore"),
    {
      code: 'ERR_MODULE_NOT_FOUND',
    },
  )
  expect(errorOfThread(missing, '/app/x.js')).toMatchObject({ code: 'store_thread_missing', cause: missing })
  expect(errorOfThread(missing, '/app/x.js').message).toContain('install better-sqlite3')
  const other = new RangeError('out of memory')
  expect(errorOfThread(other, '/app/x.js')).toBe(other)
})
