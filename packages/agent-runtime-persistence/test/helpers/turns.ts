import type { Client } from 'pg'

/** The connections that have the turn of the store that a client is connected to. */
export async function turns(client: Client): Promise<readonly number[]> {
  const { rows } = await client.query(
    `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND objid = 0 AND classid = (${turnKey}::bigint & 4294967295)::oid`,
  )
  return rows.map(({ pid }: { readonly pid: number }) => pid)
}

/** Each lock of the turn that somebody has or waits for: `turn`, or why somebody hurries who waits. */
export async function locksOfTurn(client: Client): Promise<readonly string[]> {
  const { rows } = await client.query(
    `SELECT CASE objid WHEN 0 THEN 'turn' WHEN 1 THEN 'awaited' ELSE 'little' END || CASE WHEN granted THEN '' ELSE ' is waited for' END AS it FROM pg_locks WHERE locktype = 'advisory'
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND classid = (${turnKey}::bigint & 4294967295)::oid ORDER BY 1`,
  )
  return rows.map(({ it }: { readonly it: string }) => it)
}

/** The first half of the key of the turn of the store whose schema comes first in the search path. */
export const turnKey = "hashtext('ku0 turn ' || current_schema())"
