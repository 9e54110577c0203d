export { shellLine } from '../base/index.ts';
