import { schemaTypeOf } from '../connection/values.ts'

/** The SQL that reads a store, which is written as SQLite has it, in the SQL of PostgreSQL; `?` stays. */
export function translated(sql: string): string {
  return (
    sql
      .replaceAll('json_object(', 'json_build_object(')
      // What jsonb cannot hold stays as it is. A question mark would be a parameter.
      .replaceAll(
        /json_remove\((\w+), '\$\.(\w+)'\)/g,
        String.raw`CASE WHEN $1 ~ '\\u(0000|[dD][89a-fA-F])' THEN $1 ELSE ($1::jsonb - '$2')::text END`,
      )
      .replaceAll('instr(', 'strpos(')
      .replaceAll(/ INDEXED BY \w+/g, '')
      .replaceAll(
        /EXISTS \(SELECT 1 FROM json_each\((\w+), '\$\.(\w+)'\) AS (\w+) WHERE \3\.key = \? AND \3\.value = \?\)/g,
        "json_part($1, '$2') ->> ? = ?",
      )
      .replaceAll(/([\w.]+) ->> '\$\.(\w+)'/g, "json_text($1, '$2')")
      .replaceAll(/([\w.]+) -> '\$\.(\w+)'/g, "json_part($1, '$2')")
      .replaceAll(/\btotal\(([^()]*)\)/g, 'count(*) FILTER (WHERE $1)')
  )
}

/** One run of a statement. */
export function single(sql: string, given: readonly unknown[]): string {
  let n = 0
  return sql.replaceAll('?', () => {
    const type = schemaTypeOf(given[n])
    return `$${++n}::${type}`
  })
}

/**
 * Many runs of a statement as one, with the number of the run before the columns of each row. `types`: of its parameters. `OFFSET 0` keeps them apart:
 * else the planner may join what is given with the whole table. Source: `docs/decisions/0095-rows-are-found-by-their-keys.md`.
 */
export function together(sql: string, types: readonly string[]): string {
  let n = 0
  const inner = sql.replaceAll('?', () => `given.p${++n}`)
  const arrays = types.map((type, at) => `$${at + 1}::${type}[]`).join(', ')
  const names = types.map((_, at) => `p${at + 1}, `).join('')
  return `SELECT given.n, it.* FROM unnest(${arrays}) WITH ORDINALITY AS given (${names}n) CROSS JOIN LATERAL (SELECT * FROM (${inner}) AS run OFFSET 0) AS it`
}
