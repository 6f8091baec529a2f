/** A reader that goes away (`| head`) is no error of ours; what else a stream reports is. */
export function endQuietlyWithoutReader(...streams: readonly NodeJS.WriteStream[]): void {
  for (const stream of streams) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
}
