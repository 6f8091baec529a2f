/** Where the anchor of a database is. */
export function anchorPath(path: string): string {
  return `${path}-anchor`
}
