import type { Client } from '@ku0/agent-runtime'

/**
 * The id of a task that was given by that, or by the last digits of it: all ids of a store begin alike, and end in a number that rises. A text that
 * means no task is returned as it is.
 */
export async function taskIn(client: Pick<Client, 'list' | 'status'>, given: string): Promise<string> {
  if (!/^[\da-f]{1,12}$/i.test(given) || (await client.status(given)) !== undefined) return given
  const { tasks } = await client.list({ limit: 20 })
  // A task may have an id that its submitter chose; the newest of the others has the beginning of the store.
  const newest = tasks.find(({ taskId }) => made.test(taskId))?.taskId
  if (newest === undefined) return given
  const taskId = newest.slice(0, 24) + given.toLowerCase().padStart(12, '0')
  return (await client.status(taskId)) === undefined ? given : taskId
}

/** A filter whose parent was given in the same way. */
export async function withParentIn<Filter extends { readonly parent?: string | null | undefined }>(
  client: Pick<Client, 'list' | 'status'>,
  filter: Filter,
): Promise<Filter> {
  const { parent } = filter
  return typeof parent === 'string' ? { ...filter, parent: await taskIn(client, parent) } : filter
}

const made = /^[\da-f]{8}-[\da-f]{4}-81[\da-f]{2}-8[\da-f]{3}-[\da-f]{12}$/
