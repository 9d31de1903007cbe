"""Families that a user might write, to test with."""

from dataclasses import dataclass

import numpy as np

from saltus import UserFamily


class OwnRidge(UserFamily):
    """What Ridge("sigmoid", max_inputs=3) is, for inputs of mean 0 and standard deviation 1."""

    parameter_names = ("offset", "slope")
    input_parameter_names = ("direction",)
    max_inputs = 3

    def column(self, X, parameters, ranges):
        inside = np.clip(parameters[2:], 1e-3, 1 - 1e-3)
        v = np.log(inside / (1 - inside))
        a = v / max(np.linalg.norm(v), 1e-150)
        reach = np.linalg.norm(a * np.minimum(np.abs(ranges).max(axis=0), 4.0))
        slope = 0.3 * (20 / 0.3) ** parameters[1]
        return np.tanh(slope * (X @ a - (2 * parameters[0] - 1) * reach))

    def count_parameters(self, n_inputs):
        return 2 + n_inputs - 1


@dataclass(frozen=True)
class Turns(UserFamily):
    """Cosines of weighted sums of inputs, in which the second weighs twice as much as the first, and so on."""

    fastest: float = 2.0
    max_inputs: int = 3

    parameter_names = ("phase",)
    input_parameter_names = ("frequency",)
    periodic = ("phase",)

    def _angle(self, X, parameters, ranges):
        share = (X - ranges[0]) / (ranges[1] - ranges[0])
        return share * np.arange(1, X.shape[1] + 1), 0.2 + self.fastest * parameters[1:]

    def column(self, X, parameters, ranges):
        share, frequency = self._angle(X, parameters, ranges)
        return np.cos(2 * np.pi * (share @ frequency - parameters[0]))

    def derivatives(self, X, parameters, ranges):
        share, frequency = self._angle(X, parameters, ranges)
        falls = -2 * np.pi * np.sin(2 * np.pi * (share @ frequency - parameters[0]))
        return falls[:, None] * np.column_stack([-np.ones(len(X)), self.fastest * share])

    def formula(self, names, parameters, ranges, number):
        low, high = ranges
        speed = np.arange(1, len(names) + 1) * (0.2 + self.fastest * parameters[1:]) / (high - low)
        shifted = [
            f"{value:{number}} ({name} - {at:{number}})" for value, name, at in zip(speed, names, low, strict=True)
        ]
        return f"cos 2π({' + '.join(shifted)} - {parameters[0]:{number}})"

    def add_nodes(self, graph, X, parameters, ranges):
        angle = parameters[0]
        for i, (x, low, high, parameter) in enumerate(zip(X, *ranges, parameters[1:], strict=True)):
            share = graph.add("Div", graph.add("Sub", x, low), graph.add("Sub", high, low))
            scaled = graph.add("Mul", parameter, graph.number(self.fastest))
            frequency = graph.add("Mul", graph.add("Add", scaled, graph.number(0.2)), graph.number(i + 1.0))
            angle = graph.add("Sub", angle, graph.add("Mul", share, frequency))
        return graph.add("Cos", graph.add("Mul", angle, graph.number(2 * np.pi)))


class Stairs(UserFamily):
    """1 above a threshold, and a little more beyond: smooth in one parameter, and not in the other."""

    parameter_names = ("threshold", "rise")
    not_smooth = ("threshold",)
    extrapolate = "free"

    def column(self, X, parameters, ranges):
        low, high = ranges[:, 0]
        x, at = X[:, 0], low + parameters[0] * (high - low)
        return np.where(x > at, 1 + parameters[1] * (x - at) / (high - low), 0.0)


class Constantly(UserFamily):
    """A family without parameters: the input itself, of the range that it has."""

    def column(self, X, parameters, ranges):
        return (X[:, 0] - ranges[0, 0]) / (ranges[1, 0] - ranges[0, 0])
