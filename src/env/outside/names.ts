/** The files of a run that keep what came from an environment outside. */
export const tasksName = 'outside-tasks.json';
export const rewardsName = 'outside-rewards.jsonl';
