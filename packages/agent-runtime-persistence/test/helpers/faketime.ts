import { globSync } from 'node:fs'

/** The library of the Debian package `faketime`, which tells a process another time; undefined where that is not installed. */
export const fakeTime: string | undefined = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1')[0]

/** The environment of a process whose wall clock is off by so many seconds. Its monotonic clock is that of the machine, as that of a machine whose date is wrong. */
export function offBy(seconds: number): Readonly<Record<string, string>> {
  return {
    LD_PRELOAD: fakeTime ?? '',
    FAKETIME: `${seconds < 0 ? '' : '+'}${seconds}`,
    DONT_FAKE_MONOTONIC: '1',
    NO_FAKE_STAT: '1',
  }
}
