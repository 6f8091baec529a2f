export { Warden } from './warden.ts'
