/** A figure as a person reads it: three figures that count, thousands apart. `null` is "–". */
export function showNumber(value: number | string | boolean | null): string {
  if (value === null) return '–'
  if (typeof value !== 'number') return String(value)
  if (!Number.isFinite(value)) return 'never'
  if (Number.isInteger(value)) return grouped(value)
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3
  return grouped(Number(value.toFixed(digits)))
}

/** A figure with its unit: `412 ms`. */
export function showValue(value: number | string | boolean | null, unit: string): string {
  return unit === '' || typeof value !== 'number' || !Number.isFinite(value)
    ? showNumber(value)
    : `${showNumber(value)} ${unit}`
}

/** A duration for a person: `850 ms`, `12.3 s`, `2 min 5 s`. */
export function showDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
}

function grouped(value: number): string {
  const [whole = '', fraction] = String(value).split('.')
  const apart = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ' ')
  return fraction === undefined ? apart : `${apart}.${fraction}`
}
