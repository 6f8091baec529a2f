import type { Needs } from '../transition/needs.ts'

export function clientNeeds(needs: Needs, { name }: { readonly name: string }): void {
  needs.client(name)
  // The answer names the task that it asks credits for.
  const asks = needs.base.clients.get(name)?.asks
  if (asks) needs.task(asks.task)
}
