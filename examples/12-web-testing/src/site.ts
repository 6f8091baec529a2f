// The site that is tested: a small shop on this machine, with mistakes that a test should find.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface SiteSize {
  readonly pages: number
  /** The time that the server takes for a page, and for a call of its API. */
  readonly pageMs: number
  readonly apiMs: number
}

export const usual: SiteSize = { pages: 24, pageMs: 20, apiMs: 15 }

/** Mistakes of a site with at least 9 pages: an audit that finds these and no others has found everything. */
export const planted = [
  'behavior /p5: the link to /gone leads nowhere',
  'behavior /p7: it has no title',
  'load /api/6: 4 of 20 calls failed',
  'load /api/9: calls take 180 ms',
] as const

/** Starts the site on a free port of this machine. */
export async function startSite({ pages, pageMs, apiMs }: SiteSize) {
  /** Each third page uses an API; the first API is too busy for its first call. */
  const calls = new Map<string, number>()
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '', 'http://site')
    const [, kind, at] = /^\/(p|api\/)(\d+)$/.exec(pathname) ?? []
    const number = pathname === '/' ? 1 : Number(at)
    if (kind === 'api/' && number % 3 === 0 && number <= pages) {
      await sleep(apiMs)
      const call = (calls.get(pathname) ?? 0) + 1
      calls.set(pathname, call)
      const { searchParams } = new URL(request.url ?? '', 'http://site')
      const isBusy = number === 3 && call === 1
      const fails = number === 6 && Number(searchParams.get('n')) % 5 === 4
      response
        .writeHead(isBusy ? 504 : fails ? 500 : 200, {
          'content-type': 'application/json',
          // The server says how long it thinks that it took.
          'server-timing': `app;dur=${number === 9 ? 180 : 12}`,
        })
        .end('{}')
      return
    }
    await sleep(pageMs)
    const isPage = (pathname === '/' || kind === 'p') && number >= 1 && number <= pages
    response.writeHead(isPage ? 200 : 404, { 'content-type': 'text/html' }).end(isPage ? page(number) : '')
  }

  function page(number: number): string {
    const links = [2 * number, 2 * number + 1].filter((it) => it <= pages).map((it) => `/p${it}`)
    if (number === 5) links.push('/gone')
    return [
      number === 7 ? '' : `<title>Page ${number}</title>`,
      ...links.map((link) => `<a href="${link}">${link}</a>`),
      number % 3 === 0 ? `<script data-api="/api/${number}"></script>` : '',
      number % 6 === 0 ? `<form action="/api/${number}"><input name="q"></form>` : '',
    ].join('\n')
  }

  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}
