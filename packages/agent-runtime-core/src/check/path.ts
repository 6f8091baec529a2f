/** A place within a value as it is written in code: `.a[3]["b c"]`; empty for the value itself. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.map(segment).join('')
}

function segment(key: PropertyKey): string {
  if (typeof key !== 'string') return `[${String(key)}]`
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}
