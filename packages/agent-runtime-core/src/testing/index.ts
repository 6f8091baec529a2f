export { SeededRandom } from './seeded-random.ts'
export { testDigest } from './node-digest.ts'
export { VirtualClock } from './virtual-clock.ts'
export {
  createVirtualEnvironment,
  type VirtualEnvironment,
  type VirtualOptions,
} from './virtual-environment.ts'
