import type { Reply } from './wire/messages.ts'

/** A file of a console. */
export interface ConsoleAsset {
  readonly body: string | Uint8Array<ArrayBuffer>
  /** Its media type, such as `text/html; charset=utf-8`. */
  readonly type: string
  /** Whether its name changes with its content, so that browsers may keep it for ever. False by default. */
  readonly immutable?: boolean | undefined
}

/**
 * The files of a console by path: `/index.html`, `/assets/app-3f2a.js`. Nothing else is served, and nothing is read from a disk. A page
 * of the console itself (`/tasks/…`, whatever the id of a task is) is `/index.html`.
 */
export type ConsoleAssets = Readonly<Record<string, ConsoleAsset>>

/** Scripts, styles and requests of the same origin only; no frames. */
const consolePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/**
 * Answers a request for a file of the console, or for one of its pages. Undefined if it is for neither, or for a page from a program that
 * does not take HTML. `accept`: the header of the request.
 */
export function consoleAnswer(assets: ConsoleAssets, path: string, accept: string | null): Reply | undefined {
  const isForPage = isPage(path)
  if (isForPage && accept !== null && !/text\/html|\*\/\*/.test(accept)) return undefined
  const name = isForPage ? '/index.html' : path
  const asset = Object.hasOwn(assets, name) ? assets[name] : undefined
  if (asset === undefined) return undefined
  return {
    status: 200,
    headers: {
      'content-type': asset.type,
      'content-security-policy': consolePolicy,
      'cache-control': asset.immutable === true ? 'public, max-age=31536000, immutable' : 'no-cache',
    },
    body: asset.body,
  }
}

/** Files stand at the top or in `/assets/`, and have a dot in their names. The probes are the server's own. */
function isPage(path: string): boolean {
  const [, first = ''] = path.split('/')
  return !first.includes('.') && !own.has(first)
}

const own: ReadonlySet<string> = new Set(['api', 'assets', 'health', 'metrics', 'ready'])
