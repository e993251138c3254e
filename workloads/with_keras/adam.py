"""Adam in Keras as its paper and PyTorch have it."""

from typing import Any

import keras
from keras import ops


class Adam(keras.optimizers.Adam):  # type: ignore[misc]  # keras has no types
    """Algorithm 1 of Kingma and Ba 2015, "Adam: a method for stochastic optimization".

    Keras takes the faster form of that paper's section 2, whose epsilon is not corrected as the second moment
    is: 30 times as large in the first step, it holds weights of small gradients back.
    """

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Move one variable, and both moments of its gradient."""
        dtype, index = variable.dtype, self._get_variable_index(variable)
        first, second = self._momentums[index], self._velocities[index]
        gradient, step = ops.cast(gradient, dtype), ops.cast(self.iterations + 1, dtype)
        self.assign_add(first, (gradient - first) * (1 - self.beta_1))
        self.assign_add(second, (ops.square(gradient) - second) * (1 - self.beta_2))
        mean = first / (1 - ops.power(self.beta_1, step))
        square = second / (1 - ops.power(self.beta_2, step))
        rate = ops.cast(learning_rate, dtype)
        self.assign_sub(variable, rate * mean / (ops.sqrt(square) + self.epsilon))
