import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

/** The official form of a document or of a request's body; what it does not name is refused. */
export function formOf(name: string): z.ZodType {
  const text = readFileSync(join(import.meta.dirname, 'schemas', `${name}.json`), 'utf8')
  return z.fromJSONSchema(JSON.parse(text) as Parameters<typeof z.fromJSONSchema>[0])
}
