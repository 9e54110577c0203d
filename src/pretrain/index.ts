export { pretrainMicro } from './micro.ts';
export { expectRoom, planPretraining } from './plan.ts';
export { changeRecipe, expectPrecision, type MicroRecipe, microRecipe, microShapes } from './recipe.ts';
