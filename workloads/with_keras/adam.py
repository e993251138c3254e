"""Adam and AdamW in Keras as their papers and PyTorch have them."""

import math
from typing import Any

import keras
from keras import ops

from workloads.spec import WarmupCosine


class Adam(keras.optimizers.Adam):  # type: ignore[misc]  # keras has no types
    """Algorithm 1 of Kingma and Ba 2015, "Adam: a method for stochastic optimization".

    Keras takes the faster form of that paper's section 2, with an epsilon that is not corrected as the second
    moment is: 30 times as large in the first step, it holds weights of small gradients back.

    With `matrix_decay` it is AdamW: before its step, a variable of two axes or more loses that share of
    itself times the learning rate.
    """

    def __init__(self, learning_rate: Any, *, matrix_decay: float = 0.0, **options: Any) -> None:
        super().__init__(learning_rate, **options)
        self._matrix_decay = matrix_decay

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Move one variable, and both moments of its gradient."""
        dtype, index = variable.dtype, self._get_variable_index(variable)
        first, second = self._momentums[index], self._velocities[index]
        gradient, step = ops.cast(gradient, dtype), ops.cast(self.iterations + 1, dtype)
        rate = ops.cast(learning_rate, dtype)
        if self._matrix_decay and len(variable.shape) > 1:
            self.assign_sub(variable, variable * rate * self._matrix_decay)
        self.assign_add(first, (gradient - first) * (1 - self.beta_1))
        self.assign_add(second, (ops.square(gradient) - second) * (1 - self.beta_2))
        mean = first / (1 - ops.power(self.beta_1, step))
        square = second / (1 - ops.power(self.beta_2, step))
        self.assign_sub(variable, rate * mean / (ops.sqrt(square) + self.epsilon))


class Scheduled(keras.optimizers.schedules.LearningRateSchedule):  # type: ignore[misc]  # keras has no types
    """A declared schedule as Keras' optimizers take it; `WarmupCosine.share_at` in operations."""

    def __init__(self, learning_rate: float, schedule: WarmupCosine) -> None:
        self._learning_rate, self._schedule = learning_rate, schedule

    def __call__(self, step: Any) -> Any:
        """Return the learning rate of a step; the first one is 0."""
        schedule, step = self._schedule, ops.cast(step, "float32")
        share = ops.minimum(1.0, (step + 1) / max(1, schedule.warmup_steps))
        if schedule.decay_steps:
            length = schedule.decay_steps - schedule.warmup_steps
            progress = ops.clip((step - schedule.warmup_steps) / length, 0.0, 1.0)
            fall = 0.5 * (1 + ops.cos(math.pi * progress))
            share = share * (schedule.final_share + (1 - schedule.final_share) * fall)
        return self._learning_rate * share
