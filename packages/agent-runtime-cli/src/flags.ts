/** The options of a call as flags again, for another process; without `--watch`. */
export function flagsOf(options: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(options).flatMap(([name, value]) => {
    const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
    if (name === 'watch') return []
    if (value === true) return [flag]
    if (typeof value === 'number') return [flag, name === 'wait' ? `${value}ms` : String(value)]
    if (typeof value === 'string') return [flag, value]
    return Array.isArray(value) ? [flag, value.join(',')] : []
  })
}
