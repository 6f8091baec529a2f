/** A number as people read it: `1 234 567`. */
export function count(value: number): string {
  return String(value).replaceAll(/\B(?=(\d{3})+$)/g, ' ')
}

/** A time, epoch ms, in UTC. */
export function dated(at: number): string {
  return new Date(at).toISOString()
}

/** A size in bytes as people read it. */
export function size(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`
  const units = ['KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes / 1_024
  let unit = 0
  for (; value >= 1_024 && unit < units.length - 1; unit++) value /= 1_024
  return `${value.toFixed(value < 10 ? 1 : 0)} ${units[unit] ?? ''}`
}

/** A duration in ms as people read it: `42 ms`, `3.2 s`, `5 min`, `2 h 10 min`, `3 d 4 h`. */
export function lasting(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return joined(hours, 'h', minutes % 60, 'min')
  return joined(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

function joined(large: number, unit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smallUnit}`
}

/** How long ago a time was, or in how long it is. */
export function ago(at: number, now: number): string {
  return at > now ? `in ${lasting(at - now)}` : `${lasting(now - at)} ago`
}

/** `1 task`, `2 tasks`. */
export function many(value: number, one: string, several = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : several}`
}

/** A client by its name. Tasks that name no client have one whose name is empty. */
export function clientName(client: string): string {
  return client === '' ? 'without a name' : client
}

/** The beginning of a text, where all of it has no room. */
export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(0, length - 1))}…`
}
