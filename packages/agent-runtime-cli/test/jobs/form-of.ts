import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

/** The form of a document or of a request's body, with its source and what of it was compared with that in `$comment`. It refuses a field that it does not name. */
export function formOf(name: string): z.ZodType {
  const text = readFileSync(join(import.meta.dirname, 'schemas', `${name}.json`), 'utf8')
  return z.fromJSONSchema(JSON.parse(text) as Parameters<typeof z.fromJSONSchema>[0])
}
