// The work itself, by real requests. Nothing here knows how it is put together.
import type { Data } from './events.ts'

const patienceMs = 5_000

/** Reads a page. Undefined if there is none. */
export async function readPage(site: string, path: string) {
  const { status, body } = await get(`${site}${path}`)
  if (status !== 200) return undefined
  const all = (pattern: RegExp) => [...body.matchAll(pattern)].map(([, it = '']) => it)
  return {
    path,
    title: all(/<title>(.*?)<\/title>/g)[0] ?? '',
    links: all(/href="(.*?)"/g),
    forms: all(/<form action="(.*?)"/g),
    apis: all(/data-api="(.*?)"/g),
  }
}

/** Writes a test for a page and runs it: the page has a title, and each of its links leads somewhere. */
export async function testPage(
  site: string,
  { path, links }: Data<'page_discovered'>,
): Promise<Data<'test_generated'>> {
  const page = await readPage(site, path)
  const found = await Promise.all(links.map((link) => get(`${site}${link}`)))
  const failures = [
    ...(page === undefined ? ['it is gone'] : []),
    ...(page?.title === '' ? ['it has no title'] : []),
    ...links.filter((_, at) => found[at]?.status !== 200).map((link) => `the link to ${link} leads nowhere`),
  ]
  return { path, checks: 2 + links.length, failures }
}

/** The calls that a load test makes. */
export interface LoadScript {
  readonly calls: readonly string[]
  readonly atOnce: number
}

export function writeLoad(path: string): LoadScript {
  return { calls: Array.from({ length: 20 }, (_, n) => `${path}?n=${n}`), atOnce: 5 }
}

/** Runs a load test. Throws if the server has no time, with the code `timeout`. */
export async function runLoad(site: string, { calls, atOnce }: LoadScript) {
  const times: number[] = []
  let failed = 0
  for (let at = 0; at < calls.length; at += atOnce) {
    const answers = await Promise.all(calls.slice(at, at + atOnce).map((call) => get(`${site}${call}`)))
    for (const { status, ms } of answers) {
      if (status === 504)
        throw Object.assign(new Error(`the server had no time for ${calls[at]}`), { code: 'timeout' })
      if (status !== 200) failed += 1
      times.push(ms)
    }
  }
  const slow = times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.95) - 1] ?? 0
  return { calls: calls.length, failed, ms: slow }
}

async function get(url: string) {
  const response = await fetch(url, { signal: AbortSignal.timeout(patienceMs) })
  const body = await response.text()
  const [, ms = '0'] = /dur=(\d+)/.exec(response.headers.get('server-timing') ?? '') ?? []
  return { status: response.status, body, ms: Number(ms) }
}
