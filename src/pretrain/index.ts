export { type MicroRecipe, microRecipe, pretrainMicro } from './micro.ts';
