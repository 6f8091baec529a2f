/** What to do about a store with faults. `lastGood`: the last commit that is as it was written; `size`: of its file, in bytes. */
export function remedyOf({ size, lastGood }: { readonly size: number; readonly lastGood: number }): string {
  const backup =
    lastGood > 0 ? `a backup that ends at commit ${lastGood} or before is good` : 'verify it first'
  const never = size === 0 ? '; if it never held a store, remove the file' : ''
  return `stop every process on it, keep a copy of its files, and restore a backup (${backup})${never}: docs/operating.md, Backup`
}
