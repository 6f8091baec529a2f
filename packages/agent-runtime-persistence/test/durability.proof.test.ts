import './durability.test.ts'
