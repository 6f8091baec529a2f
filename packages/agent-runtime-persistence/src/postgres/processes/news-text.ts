import type { News } from '../../engine/news.ts'

/** A commit, as its process tells others of it. */
interface Told {
  readonly writer: number
  /** The version of the store that it made. */
  readonly version: number
  readonly news: News
}

export function newsText({ writer, version, news }: Told): string {
  return `${writer} ${version} ${news}`
}

/** What {@link newsText} said. Where something is missing, as from another version of this program, the version is 0 and it concerns all. */
export function newsIn(payload: string): Told {
  const [writer, version, news] = payload.split(' ')
  return {
    writer: Number(writer),
    version: Number(version) || 0,
    news: news === 'takers' || news === 'followers' ? news : 'all',
  }
}
