import { ApiError } from './errors.ts'

/** The answer; undefined if the server knows nothing of that name. */
export async function unlessUnknown<T>(asked: Promise<unknown>): Promise<T | undefined> {
  try {
    return (await asked) as T
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return undefined
    throw error
  }
}
