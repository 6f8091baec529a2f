import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { describeEntries } from '../api/describe-entries.ts'

/** Nothing but what a test declares. */
const bare = { noLib: true, types: [] }

test('the public API is described by the declaration of each exported name, without comments and private members', () => {
  const described = describe({
    'index.d.ts': `
      /** A comment. */
      export declare function run(task: string): Promise<void>;
      export declare function run(task: number): Promise<void>;
      export { Clock as Time, type Kept } from './other.ts';
      declare const hidden: unique symbol;
    `,
    'other.d.ts': `
      export declare class Clock { #private; private readonly at; protected seen: number; now(): number }
      export interface Kept { readonly for: 'ever' }
      export interface Unseen { readonly x: 1 }
    `,
  })
  expect(described).toBe(`# it

Kept
    interface Kept {
        readonly for: 'ever';
    }

Time
    class Clock {
        protected seen: number;
        now(): number;
    }

run
    function run(task: string): Promise<void>;
    function run(task: number): Promise<void>;
`)
})

test('a name that goes and a type that changes are seen', () => {
  const before = describe({ 'index.d.ts': 'export declare const a: string; export declare const b: 1;' })
  expect(describe({ 'index.d.ts': 'export declare const a: string;' })).not.toBe(before)
  expect(describe({ 'index.d.ts': 'export declare const a: string; export declare const b: 2;' })).not.toBe(
    before,
  )
})

test('an entry that was not compiled is an error', () => {
  expect(() => describeEntries([{ name: 'it', file: '/nowhere/index.d.ts' }], bare)).toThrow('run tsc -b')
})

function describe(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'api-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const [text = ''] = describeEntries([{ name: 'it', file: join(folder, 'index.d.ts') }], bare)
  return text
}
