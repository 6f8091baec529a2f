import { expect, test } from 'vitest'
import { whyNotLoaded } from '../src/why-not-loaded.ts'

const failed = (message: string, stack: string) => Object.assign(new Error(message), { stack })

test('a module that cannot be loaded is said with the file and the line that Node names', () => {
  expect(
    whyNotLoaded(
      failed(
        'Expression expected',
        'file:///app/src/a%20b.ts?anew=1:2\nexport const x = ;\n\nSyntaxError: …',
      ),
    ),
  ).toBe('Expression expected (/app/src/a b.ts:2)')
  expect(whyNotLoaded(failed('Expression expected', '/app/b.ts:2\nexport const x = ;'))).toBe(
    'Expression expected (/app/b.ts:2)',
  )
  expect(
    whyNotLoaded(
      failed('no key', 'TypeError: no key\n    at file:///app/tasks.ts:7:3\n    at more (node:x:1:1)'),
    ),
  ).toBe('no key (/app/tasks.ts:7)')
  expect(
    whyNotLoaded(
      failed(
        'no key',
        'Error: no key\n    at open (file:///app/store.ts:9:1)\n    at file:///app/tasks.ts:1:1',
      ),
    ),
  ).toBe('no key (/app/store.ts:9)')
})

test('a module that cannot be loaded is said without a place where Node names none', () => {
  const missing = "Cannot find package 'x' imported from /app/tasks.ts"
  expect(
    whyNotLoaded(failed(missing, `Error: ${missing}\n    at Object.getURL (node:internal/reader:3:9)`)),
  ).toBe(missing)
  expect(whyNotLoaded('a text')).toBe('a text')
})
