"""One trial: train a small classifier with given settings for some epochs, and write down how well it does.

The task: tell points inside a ring from points outside. The model: logistic
regression on polynomial features, trained by stochastic gradient descent.
"""

import json
import math
import random
import sys
from pathlib import Path

POINTS = 600
Point = tuple[float, float, int]


def points(seed: int, count: int) -> list[Point]:
    """Points of the square [-2, 2] x [-2, 2]; one in ten has the wrong label."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        x, y = rng.uniform(-2, 2), rng.uniform(-2, 2)
        inside = 0.7 < math.hypot(x, y) < 1.6
        found.append((x, y, int(inside != (rng.random() < 0.1))))
    return found


def features(x: float, y: float, degree: int) -> list[float]:
    return [(x / 2) ** i * (y / 2) ** j for i in range(degree + 1) for j in range(degree + 1 - i)]


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, z))))


def train(rate: float, decay: float, degree: int, epochs: int) -> float:
    """The loss on points that were not trained on, after ``epochs``; lower is better."""
    rng = random.Random(1)
    known = [(features(x, y, degree), label) for x, y, label in points(2, POINTS)]
    unseen = [(features(x, y, degree), label) for x, y, label in points(3, POINTS)]
    weights = [0.0] * len(known[0][0])
    for _ in range(epochs):
        rng.shuffle(known)
        for row, label in known:
            error = sigmoid(sum(w * v for w, v in zip(weights, row, strict=True))) - label
            weights = [w - rate * (error * v + decay * w) for w, v in zip(weights, row, strict=True)]
    loss = 0.0
    for row, label in unseen:
        p = min(1 - 1e-9, max(1e-9, sigmoid(sum(w * v for w, v in zip(weights, row, strict=True)))))
        loss -= math.log(p if label else 1 - p)
    return loss / len(unseen)


if __name__ == "__main__":
    settings = json.loads(sys.argv[1])
    Path("result.json").write_text(json.dumps({"loss": train(**settings)}))
