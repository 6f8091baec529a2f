/**
 * The values of the rows of one statement, row after row, in a list that is used again and again. A list that grew value by value, and was thrown away with
 * each statement, took a twentieth of the store's time when many tasks were submitted.
 */
export class RowValues {
  private readonly values: unknown[]
  private count = 0
  private isEmpty = true

  /** `size`: how many values one statement takes. */
  constructor(size: number) {
    this.values = Array.from({ length: size })
  }

  /** Adds a row. Gives the values of all rows once there are as many as one statement takes: they stand until the next row comes. */
  add(row: readonly unknown[]): readonly unknown[] | undefined {
    const { values } = this
    let at = this.count
    this.isEmpty = false
    for (const value of row) values[at++] = value
    this.count = at === values.length ? 0 : at
    return at === values.length ? values : undefined
  }

  /** The values of the rows that are left. Keeps none: a payload may be large. */
  takeRest(): readonly unknown[] {
    const rest = this.values.slice(0, this.count)
    this.drop()
    return rest
  }

  drop(): void {
    if (this.isEmpty) return
    this.count = 0
    this.isEmpty = true
    this.values.fill(undefined)
  }
}
