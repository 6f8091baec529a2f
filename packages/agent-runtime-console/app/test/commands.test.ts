import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { runInNewContext } from 'node:vm'
import { createHttpClient } from '@ku0/agent-runtime-client'
import { beforeEach, expect, test, vi } from 'vitest'
import { callCode, curl, pathWith } from '../src/ui/commands.ts'
import { filterOf, listFilterOf, listPathOf } from '../src/pages/tasks/filter.ts'

const origin = 'http://localhost:7007'
const signed = new Map<string, string>()
beforeEach(() => {
  signed.clear()
  vi.stubGlobal('location', { origin })
  vi.stubGlobal('sessionStorage', { getItem: (name: string) => signed.get(name) ?? null })
  return () => vi.unstubAllGlobals()
})

/** The words that a shell gives to `curl`. */
function wordsOf(command: string, env: Record<string, string> = {}): string[] {
  expect(command).toMatch(/^curl /)
  const told = command.replace('curl ', String.raw`printf '%s\0' `)
  return execFileSync('sh', ['-c', told], { encoding: 'utf8', env: { ...process.env, ...env } })
    .split('\0')
    .slice(0, -1)
}

const hostile = `it's "a" $HOME \`id\` \\ !! {1,2} [3] 世界 ✓`

test('a shell takes a copied command as it was meant, whatever stands in its path and its body', () => {
  const body = { by: hostile, feedback: `${hostile}\n'''` }
  const words = wordsOf(
    curl(pathWith(`/tasks/${encodeURIComponent(hostile)}`, [['q', hostile]]), 'POST', body),
  )
  expect(words.slice(0, 2)).toEqual(['-X', 'POST'])
  const url = new URL(words[2] ?? '')
  expect(decodeURIComponent(url.pathname)).toBe(`/api/v1/tasks/${hostile}`)
  expect(url.searchParams.get('q')).toBe(hostile)
  // Else curl takes braces and brackets for many addresses.
  expect(words[2]).not.toMatch(/[[\]{}]/)
  expect(words.slice(3, -1)).toEqual(['-H', 'content-type: application/json', '-d'])
  expect(JSON.parse(words.at(-1) ?? '')).toEqual(body)
})

test('a copied command has the token of its shell, and not that of the page', () => {
  signed.set('agent-runtime token', 'ku0_secret')
  const command = curl('/stats')
  expect(command).not.toContain('ku0_secret')
  expect(wordsOf(command, { AGENT_RUNTIME_TOKEN: 'ku0_own' })).toEqual([
    `${origin}/api/v1/stats`,
    '-H',
    'authorization: Bearer ku0_own',
  ])
})

const pages = resolve(import.meta.dirname, '../src/pages')
// One text or a list of some, as they stand in the source.
const given = String.raw`("[^"]+"|\{\[[^\]]+\]\})`
const oneOrSome = new RegExp(String.raw`\bpath=${given}\s+call=${given}`, 'g')
const textsIn = (source = '') => [...source.matchAll(/["']([^"']+)["']/g)].map(([, text = '']) => text)
const copies = globSync('**/*.tsx', { cwd: pages }).flatMap((file) =>
  [...readFileSync(resolve(pages, file), 'utf8').matchAll(oneOrSome)].flatMap(([, paths, calls]) => {
    const asPrograms = textsIn(calls)
    return textsIn(paths).map((path, at) => [path, asPrograms[at] ?? ''] as const)
  }),
)

test.each(copies)(
  'what a page copies as a request of %s and as the program %s is one question',
  async (path, call) => {
    const asked: string[] = []
    const client = createHttpClient({
      url: origin,
      fetch: async ({ url }) => {
        asked.push(new URL(url).pathname)
        return Response.json({})
      },
    })
    await Promise.resolve(runInNewContext(`client.${call}`, { client })).catch(() => {})
    expect(asked).toEqual([`/api/v1${path}`])
    expect(callCode(call)).toContain(`await client.${call})`)
  },
)

test('a copied program prints the answer of each of its calls', () => {
  expect(callCode('quotas()', 'clients.list()')).toContain(
    '\nconsole.log(await client.quotas(), await client.clients.list())\n',
  )
})

test('most pages can be copied', () => {
  expect(copies.length).toBeGreaterThan(7)
})

test.each([
  {},
  { states: 'failed,cancelled', types: 'review, greet', lanes: 'batch' },
  { label: `urgent, team=${hostile.replaceAll(',', '')}, size=a=b`, text: hostile, client: 'a+b & c' },
])('the list of %j is copied as the console asks for it', async (search) => {
  const filter = filterOf(search)
  const asked: string[] = []
  const client = createHttpClient({
    url: origin,
    fetch: async ({ url }) => {
      asked.push(url)
      return Response.json({ tasks: [] })
    },
  })
  await client.list({ ...listFilterOf(filter), values: false })
  const queryOf = (url = '') => [...new URL(url).searchParams].toSorted(([a], [b]) => a.localeCompare(b))
  const [copied] = wordsOf(curl(listPathOf(filter)))
  expect(queryOf(copied)).toEqual(queryOf(asked[0]))
  expect(new URL(copied ?? '').pathname).toBe('/api/v1/tasks')
})
