import type { Needs } from '../transition/needs.ts'

export function clientNeeds(needs: Needs, { name }: { readonly name: string }): void {
  needs.client(name)
}
