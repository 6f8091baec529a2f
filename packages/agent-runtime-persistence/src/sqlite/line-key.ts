/** Where a store keeps what it knows of a line: a row of the table `meta`. */
export function lineKey(line: string): string {
  return `line:${line}`
}
