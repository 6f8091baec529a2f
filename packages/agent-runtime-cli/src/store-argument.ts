import { resolve } from 'node:path'

/** The URL behind what was given: that itself, or the path of a file. A relative path begins at `folder`. */
export function storeUrl(given: string, folder?: string): string {
  const [, scheme, path = given] = /^(sqlite:(?!\/\/)|)(.*)$/s.exec(given) ?? []
  if (scheme === '' && /^[a-z][a-z\d+.-]+:/i.test(given)) return given
  if (folder === undefined || path === '' || path.startsWith(':') || path.startsWith('file:'))
    return `sqlite:${path}`
  return `sqlite:${resolve(folder, path)}`
}

/** Whether a store's URL names a server in front of it. */
export function isServer(store: string): boolean {
  return /^https?:/i.test(store)
}

/** A store's URL as it may be shown: without its password. */
export function shownUrl(url: string): string {
  return url.replace(/^([a-z][a-z\d+.-]+:\/\/[^/?#:@]*:)[^/?#@]*@/i, '$1***@')
}
