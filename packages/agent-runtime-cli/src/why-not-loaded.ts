import { fileURLToPath } from 'node:url'

/** Why a module could not be loaded, with the file and the line if Node says them: it may be one that the module imports. */
export function whyNotLoaded(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const place = placeIn(error.stack ?? '')
  return place === undefined || error.message.includes(place) ? error.message : `${error.message} (${place})`
}

/** A syntax error has the place as the first line of its stack, as a path or a URL; an error that was thrown, in the first line of a call. */
function placeIn(stack: string): string | undefined {
  const [first = '', ...rest] = stack.split('\n')
  const [, path, line] = /^((?:file:\/|\/|[a-z]:\\).*):(\d+)$/i.exec(first) ?? []
  if (path !== undefined) return `${plainPath(path)}:${line ?? ''}`
  const call = rest.find((it) => /^\s+at /.test(it)) ?? ''
  const [, url, at] = /(file:\/\/[^\s()]+?):(\d+)(?::\d+)?\)?$/.exec(call) ?? []
  return url === undefined ? undefined : `${plainPath(url)}:${at ?? ''}`
}

/** The path behind a URL; what is none stays. A reload has added a search to it. */
function plainPath(given: string): string {
  if (!URL.canParse(given) || new URL(given).protocol !== 'file:') return given
  const url = new URL(given)
  url.search = ''
  return fileURLToPath(url)
}
