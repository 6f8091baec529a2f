/** A report of the gym that a {@link ReportSource} has. */
export interface ReportFile {
  /** Its name, without a folder: `main.json`. */
  readonly name: string
  readonly bytes: number
  /** When it last changed, epoch ms. */
  readonly changedAt: number
}

/**
 * Reports of the gym, which the console shows and compares. The server asks for nothing but names that the list has. `agent-runtime serve --reports FOLDER` gives those of
 * a folder.
 */
export interface ReportSource {
  /** All reports, the newest first. */
  list(): Promise<readonly ReportFile[]>
  /** The JSON text of a report; undefined if there is none of this name. */
  read(name: string): Promise<string | undefined>
}

/** A server that was given no reports has none. */
export const noReports: ReportSource = {
  list: async () => [],
  read: async () => undefined,
}
