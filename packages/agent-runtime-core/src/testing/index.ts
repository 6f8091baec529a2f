export { SeededRandom } from './seeded-random.ts'
export { testDigest, utf8 } from './sha256.ts'
export { VirtualClock } from './virtual-clock.ts'
export {
  createVirtualEnvironment,
  type VirtualEnvironment,
  type VirtualOptions,
} from './virtual-environment.ts'
