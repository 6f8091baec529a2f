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
