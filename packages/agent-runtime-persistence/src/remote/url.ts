import { invalid } from '@ku0/agent-runtime-core'

/** Whether a store's URL names a server of the runtime. */
export function isRemoteUrl(url: unknown): url is string {
  return typeof url === 'string' && /^https?:\/\//i.test(url)
}

/**
 * The URL of a server, without a slash at its end. Throws `invalid_argument` for one that holds a password, which would end up in logs, and for
 * plain HTTP to another machine, which would show the token to everybody on the way.
 */
export function parseRemoteUrl(url: string): string {
  let parts: URL
  try {
    parts = new URL(url)
  } catch {
    throw invalid('the URL of a remote store is none: write https://HOST or https://HOST:PORT')
  }
  if (parts.username !== '' || parts.password !== '')
    throw invalid('the URL of a remote store holds a name or a password; give the token as an option')
  if (parts.search !== '' || parts.hash !== '')
    throw invalid('the URL of a remote store has no ? and no #; write https://HOST or https://HOST/PATH')
  if (parts.protocol === 'http:' && !isLoopback(parts.hostname))
    throw invalid(
      `http://${parts.host} would send the token and all values in the clear; write https://${parts.host}, or reach the server through a tunnel on localhost`,
    )
  return parts.href.replace(/\/+$/, '')
}

function isLoopback(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || name.startsWith('127.')
}
