import type { Db } from '../../sqlite/open.ts'

/**
 * The CHECK constraints in the SQL of a table, each as an expression. `PRAGMA integrity_check` looks at them, but not on a connection that
 * only reads: SQLite leaves them out when it parses the schema of one.
 */
export function checksIn(sql: string): readonly string[] {
  const checks: string[] = []
  for (const { index } of sql.matchAll(/\bCHECK\s*\(/gi)) {
    const from = sql.indexOf('(', index)
    let depth = 0
    let isText = false
    for (let at = from; at < sql.length; at += 1) {
      const sign = sql[at]
      if (sign === "'") isText = !isText
      if (isText) continue
      if (sign === '(') depth += 1
      if (sign === ')') depth -= 1
      if (depth === 0) {
        checks.push(sql.slice(from, at + 1))
        break
      }
    }
  }
  return checks
}

/** The constraints of a table that rows of it break, each with the number of those rows. */
export function brokenChecks(
  db: Db,
  table: string,
  checks: readonly string[],
): readonly { readonly check: string; readonly rows: number }[] {
  if (checks.length === 0) return []
  const sums = checks.map((check) => `sum(NOT ${check})`)
  const counts = db
    .prepare<[], (number | null)[]>(`SELECT ${sums.join(', ')} FROM "${table}"`)
    .raw()
    .get()
  return checks.flatMap((check, at) => {
    const rows = counts?.[at] ?? 0
    return rows > 0 ? [{ check, rows }] : []
  })
}
