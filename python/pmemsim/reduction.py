"""Reduces what an image has lost to what matters for its verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

Wrong = TypeVar("Wrong")

MOST_TRIES = 200
"""An image is checked so often, or a few times more."""


class Losses(Protocol):
    """What an image has lost, by numbers, and how it gets some of that back."""

    def losses(self) -> list[int]:
        """What is lost now, the first first."""

    def bring_back(self, numbers: list[int]) -> None:
        """Give the image some of it back."""

    def lose_again(self, numbers: list[int]) -> None:
        """Undo the last `bring_back`."""


def reduce_losses(losses: Losses, verdict: Callable[[], Wrong | None], wrong: Wrong) -> Wrong:
    """Bring back what an image has lost, as much as leaves it wrong; what is left is what matters.

    `verdict` checks the image as it is: what is wrong, or None. `wrong` is what it says before.
    Returns what it says of the image that is left. Halves the parts that are brought back together,
    as delta debugging does, and begins with all at once: perhaps nothing of it matters.
    """
    lost = losses.losses()
    size, tries = 2 * len(lost), 0
    while size > 1 and tries < MOST_TRIES:
        size = (size + 1) // 2
        for first in range(0, len(lost), size):
            back = lost[first : first + size]
            losses.bring_back(back)
            tries += 1
            if (still := verdict()) is not None:
                wrong = still
            else:
                losses.lose_again(back)
        lost = losses.losses()
        size = min(size, len(lost))
    return wrong
