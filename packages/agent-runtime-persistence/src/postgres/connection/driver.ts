import { RuntimeError } from '@ku0/agent-runtime-core'
import type { Driver } from './session.ts'

/** The driver, which only programs with a store on PostgreSQL have to install. */
export async function loadDriver(): Promise<Driver> {
  try {
    const { default: driver } = await import('pg')
    return driver
  } catch (cause) {
    if ((cause as { readonly code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new RuntimeError(
      'invalid_argument',
      'a store on PostgreSQL needs the driver pg, which is not installed: npm install pg',
      { cause },
    )
  }
}
